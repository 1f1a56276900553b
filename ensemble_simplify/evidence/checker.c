/* A second checker of evidence, for the commonest claim: two models answer the same class for every
   input of a region. It shares no code with checker.py, and reads the same files.

       cc -std=c99 -O2 checker.c -lm -o checker
       ./checker < evidence.json            (gunzip -c evidence.json.gz | ./checker)

   It ends with 0 if the claim is proven, with 1 if it is not, and with 2 if it cannot tell: the file
   cannot be read, or its claim or proof is of another kind. Nothing in the file is believed. Bounds,
   answers, hashes and the sentence that the file states are not even read: the sentence that is
   printed is made here, and is about the trees in the file. checker.py compares the hashes, and
   ensemble_simplify.check tells whether these are the models that you have.

   Five rules make it sound, each explained where it is used: (1) boxes cover the region; (2) rounding
   is monotone; (3) what surely trails is not the answer; (4) leads in both models add up; (5) the same
   numbers in the same steps give the same answer. */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "float and double must be computed in their own precision"
#endif

enum { MOST_DEPTH = 5000, MOST_NESTED = 64, MOST_BYTES = 1 << 30, MOST_BOXES = 4000000 };

static void need(int holds, const char *message) {
    if (holds) return;
    fprintf(stderr, "Cannot tell: %s\n", message);
    exit(2);
}

static void prove(int holds, const char *message) {
    if (holds) return;
    printf("Not proven: %s\n", message);
    exit(1);
}

static void *room(int n, size_t size) {
    void *found = calloc((size_t)n + 1, size);
    need(found != NULL, "there is not enough memory");
    return found;
}

/* ------------------------------------------------------------------------------- JSON

   Every value keeps its text. Its kind is its first letter, 0 for numbers. */

typedef struct Json {
    char kind;
    const char *text;
    int length, n;
    struct Json *items; /* of a dict: keys and values in turn */
} Json;

static const char *at, *stop;

static int next_is(const char *letters) {
    while (at < stop && *at && strchr(" \t\r\n", *at)) at++;
    return at < stop && *at && strchr(letters, *at) != NULL;
}

static int same_text(const Json *a, const Json *b) {
    return a->length == b->length && !memcmp(a->text, b->text, (size_t)a->length);
}

static Json value(int depth) {
    Json own = {0};
    need(next_is("{[\"-0123456789ntf") && depth < MOST_NESTED, "this is no JSON, or nested too deeply");
    own.text = at;
    own.kind = *at;
    if (own.kind == '{' || own.kind == '[') {
        for (at++; !next_is(own.kind == '{' ? "}" : "]");) {
            need(!own.n || (next_is(",") && at++), "a comma is missing");
            for (int part = own.kind == '['; part < 2; part++) {
                Json item = value(depth + 1);
                for (int j = 0; part == 0 && j < own.n; j += 2)
                    need(!same_text(own.items + j, &item), "a key is there twice");
                need(part || (item.kind == '"' && next_is(":") && at++), "a key or a colon is missing");
                if ((own.n & (own.n - 1)) == 0) /* the room doubles */
                    own.items = realloc(own.items, (own.n ? 2 * (size_t)own.n : 1) * sizeof(Json));
                need(own.items != NULL, "there is not enough memory");
                own.items[own.n++] = item;
            }
        }
        at++;
    } else if (own.kind == '"') {
        for (at++; at < stop && *at != '"'; at++) at += *at == '\\';
        need(at++ < stop, "a text does not end");
    } else if (strchr("ntf", own.kind)) {
        const char *word = own.kind == 'n' ? "null" : own.kind == 't' ? "true" : "false";
        need(!strncmp(at, word, strlen(word)), "this is no JSON");
        at += strlen(word);
    } else {
        for (own.kind = '0'; at < stop && *at && strchr("0123456789+-.eE", *at);) at++;
    }
    own.length = (int)(at - own.text);
    return own;
}

static int is_text(const Json *own, const char *text) {
    size_t n = strlen(text);
    return own->kind == '"' && own->length == (int)n + 2 && !memcmp(own->text + 1, text, n);
}

/* An entry of a dict, of one of some kinds. */
static const Json *get(const Json *own, const char *key, const char *kinds) {
    for (int i = 0; own->kind == '{' && i < own->n; i += 2)
        if (is_text(own->items + i, key) && strchr(kinds, own->items[i + 1].kind)) return own->items + i + 1;
    need(0, key);
    return NULL;
}

/* Whether two values are the same; with `or_null`, null is the same as anything. */
static int is_same(const Json *a, const Json *b, int or_null) {
    int same = a->kind == b->kind && a->n == b->n && (a->items || same_text(a, b));
    for (int i = 0; same && i < a->n; i++) same = is_same(a->items + i, b->items + i, or_null);
    return same || (or_null && (a->kind == 'n' || b->kind == 'n'));
}

/* A number; `null` stands for one where it is not zero. */
static double number(const Json *own, double null) {
    char *rest;
    if (own->kind == 'n' && null != 0.0) return null;
    need(own->kind == '0' && own->length < 64, "a number is missing, or too long");
    double found = strtod(own->text, &rest);
    need(isfinite(found) && rest == own->text + own->length, "a number is too large, or none");
    return found;
}

static int whole(const Json *own, int least, int most) {
    double found = number(own, 0.0);
    int good = found >= least && found <= most && strcspn(own->text, ".eE") >= (size_t)own->length;
    need(good, "a whole number is none, or out of its range");
    return (int)found;
}

static double *numbers(const Json *own, int n, double null) {
    double *found = room(n, sizeof *found);
    need(own->kind == '[' && own->n == n, "a list has another length");
    for (int i = 0; i < n; i++) found[i] = number(own->items + i, null);
    return found;
}

static int *wholes(const Json *own, int n, int least, int most) {
    int *found = room(n, sizeof *found);
    need(own->kind == '[' && own->n == n, "a list has another length");
    for (int i = 0; i < n; i++) found[i] = whole(own->items + i, least, most);
    return found;
}

static int is_single(const Json *own) {
    need(is_text(own, "float32") || is_text(own, "float64"), "a type is not known");
    return is_text(own, "float32");
}

/* ------------------------------------------------------------------------------ models

   Trees are arrays of nodes in pre-order, and `left` is -1 in leaves. What a model makes of its leaves are steps, of
   which each names earlier ones. A step gives a number, or says one of `n_may` classes. */

typedef struct {
    int n, *first, *column, *left, *right, *gap_left; /* of n nodes; gaps are missing values */
    double *ends;                                     /* numbers up to this go left */
} Trees;
typedef struct {
    char sign;           /* c: constant, t: sum of trees, k: chosen by a class, l: largest, a: above */
    int a, b, single;    /* earlier steps, or where trees begin and stop; whether it rounds to float32 */
    int n, *from, n_may; /* column of values, or a list's length; a list of steps */
    double x, y, *ends;
    double low, high; /* in the box that is looked at: what the number can be */
    char *may;        /* ... and which classes are possible */
} Step;
typedef struct { double *leaf, constant, spare, size; } Lead;
typedef struct {
    const Json *json, *classes;
    Trees trees;
    Step *steps;
    Lead *leads; /* of each class over each other one, once they are asked for */
    double **leaf, eps;
    int n_trees, n_values, n_classes, n_steps, result, exact;
    int *tree, *reached, *begin; /* the tree of each node; leaves in the box, and where each tree's begin */
    char *is_twin;               /* of each tree of the second model */
} Model;

static Model models[2];
static int n_columns, *twin; /* of each tree of the first model one of the second, or -1 */

/* In pre-order, the left child of a node comes next, and the right one where what is left of it ends. */
static Trees read_trees(const Json *own, int gaps, int *n_trees) {
    int n = get(own, "column", "[")->n, n_open = 0;
    Trees t = {n, room(n + 1, sizeof(int)), wholes(get(own, "column", "["), n, -1, n_columns - 1),
               room(n, sizeof(int)), room(n, sizeof(int)),
               gaps ? wholes(get(own, "missing_left", "["), n, 0, 1) : NULL,
               numbers(get(own, "end", "["), n, INFINITY)};
    int *open = room(MOST_DEPTH, sizeof(int));
    *n_trees = 0;
    for (int i = 0; i < n; i++) {
        t.left[i] = t.column[i] < 0 ? -1 : i + 1;
        need(n_open < MOST_DEPTH, "a tree is too deep");
        if (t.left[i] >= 0) open[n_open++] = i;
        else if (n_open > 0) t.right[open[--n_open]] = i + 1;
        else t.first[++*n_trees] = i + 1;
    }
    need(n > 0 && t.first[*n_trees] == n, "nodes are no trees in pre-order");
    free(open);
    return t;
}

static int earlier(const Model *m, const Json *own, int i, int is_class) {
    int found = whole(own, 0, i - 1);
    need((m->steps[found].n_may > 0) == is_class, "a step takes what another one does not give");
    return found;
}

static void read_step(Model *m, int i, const Json *own) {
    Step *s = m->steps + i;
    const Json *part = own->items;
    need(own->kind == '[' && own->n > 1, "a step has no parts");
    if (is_text(part, "constant") && own->n == 2) {
        s->sign = 'c', s->x = number(part + 1, 0.0);
    } else if (is_text(part, "trees") && own->n == 6) { /* x, and a column of trees a to b, in turn */
        s->sign = 't', s->a = whole(part + 1, 0, m->n_trees), s->b = whole(part + 2, s->a, m->n_trees);
        s->n = whole(part + 3, 0, m->n_values - 1), s->x = number(part + 4, 0.0), s->single = is_single(part + 5);
    } else if (part->kind == '"' && part->length == 3 && strchr("+-*/", part->text[1]) && own->n == 4) {
        s->sign = part->text[1], s->single = is_single(part + 3);
        s->a = earlier(m, part + 1, i, 0), s->b = earlier(m, part + 2, i, 0);
    } else if (is_text(part, "chosen") && own->n == 5) { /* x if a step says class b, else y */
        s->sign = 'k', s->a = earlier(m, part + 1, i, 1), s->b = whole(part + 2, -1, 1000000);
        s->x = number(part + 3, 0.0), s->y = number(part + 4, 0.0);
    } else if (is_text(part, "largest") && own->n == 4) { /* of two within x, either may be meant */
        need(part[1].kind == '[' && part[1].n > 0, "the largest of nothing");
        s->sign = 'l', s->n = s->n_may = part[1].n, s->from = room(s->n, sizeof(int));
        for (int k = 0; k < s->n; k++) s->from[k] = earlier(m, part[1].items + k, i, 0);
        s->b = is_text(part + 2, "last"), s->x = number(part + 3, 0.0);
        need((s->b || is_text(part + 2, "first")) && s->x >= 0.0, "a rule for ties is not known");
    } else if (is_text(part, "above") && own->n == 5) { /* class b below the first end, then 1 - b ... */
        s->sign = 'a', s->n_may = 2, s->a = earlier(m, part + 1, i, 0), s->n = part[2].n;
        s->ends = numbers(part + 2, s->n, 0.0), s->b = whole(part + 3, 0, 1), s->single = whole(part + 4, 0, 1);
        for (int k = 1; k < s->n; k++) need(s->ends[k - 1] <= s->ends[k], "ends are not in order");
    } /* any other step gives a number that can be anything */
    s->may = room(s->n_may, 1);
}

static void read_model(Model *m, const Json *own) {
    const Json *nodes = get(own, "nodes", "{"), *leaf = get(nodes, "value", "["), *list = get(own, "steps", "[");
    m->json = own, m->trees = read_trees(nodes, 1, &m->n_trees), m->n_values = leaf->n, m->n_steps = list->n;
    int n = m->trees.n, *first = m->trees.first;
    m->tree = room(n, sizeof(int)), m->reached = room(n, sizeof(int)), m->begin = room(m->n_trees, sizeof(int));
    for (int t = 0; t < m->n_trees; t++)
        for (int i = first[t]; i < first[t + 1]; i++) m->tree[i] = t;
    m->exact = 1, m->leaf = room(m->n_values, sizeof(double *));
    for (int c = 0; c < m->n_values; c++) {
        m->leaf[c] = numbers(leaf->items + c, n, 0.0);
        for (int i = 0; i < n; i++) m->exact &= ldexp(m->leaf[c][i], 20) == rint(ldexp(m->leaf[c][i], 20));
    }
    m->steps = room(m->n_steps, sizeof(Step)), m->eps = DBL_EPSILON;
    for (int i = 0; i < m->n_steps; i++) {
        read_step(m, i, list->items + i);
        for (int k = 0; k < list->items[i].n; k++)
            if (is_text(list->items[i].items + k, "float32")) m->eps = FLT_EPSILON;
    }
    m->result = whole(get(own, "result", "0"), 0, m->n_steps - 1);
    m->classes = get(own, "classes", "["), m->n_classes = n = m->classes->n;
    need(n > 0 && n < 10000 && m->steps[m->result].n_may == n, "the classes are not those of the steps");
    for (int i = 0; i < n * n; i++)
        need(i / n == i % n || !same_text(m->classes->items + i / n, m->classes->items + i % n), "a class is there twice");
    m->leads = room(n * n, sizeof(Lead));
}

/* Two trees of the same splits end in the same leaf, whatever the input is: they are twins. */
static void find_twins(void) {
    const Trees *a = &models[0].trees, *b = &models[1].trees;
    char *taken = models[1].is_twin = room(models[1].n_trees, 1);
    twin = room(models[0].n_trees, sizeof(int));
    for (int t = 0; t < models[0].n_trees; t++) {
        twin[t] = -1;
        for (int s = 0; s < models[1].n_trees && twin[t] < 0; s++) {
            int by = b->first[s] - a->first[t], same = !taken[s] && a->first[t + 1] + by == b->first[s + 1];
            for (int i = a->first[t]; same && i < a->first[t + 1]; i++)
                same = a->column[i] == b->column[i + by]
                       && (a->left[i] < 0 || (a->ends[i] == b->ends[i + by] && a->gap_left[i] == b->gap_left[i + by]));
            if (same) taken[twin[t] = s] = 1;
        }
    }
}

/* ---------------------------------------------------------------------- a model in a box

   Ends of a box belong to it, and are NaN where no number is left. `gap` says where values may be
   missing. */

static double *low, *high;
static char *gap;
static const Trees *split_in; /* the first split, split_at, that leaves a tree undecided */
static int split_at;

/* Which children of a node the box reaches: 1 the left one, 2 the right one, 3 both. */
static int sides(const Trees *t, int i) {
    int j = t->column[i];
    return (low[j] <= t->ends[i]) | (high[j] > t->ends[i]) << 1 | (gap[j] ? 2 - t->gap_left[i] : 0);
}

static void reach(Model *m, int i, int *n) {
    const Trees *t = &m->trees;
    for (int to; t->left[i] >= 0; i = to & 2 ? t->right[i] : t->left[i])
        if ((to = sides(t, i)) == 3) {
            if (!split_in) split_in = t, split_at = i;
            reach(m, t->left[i], n);
        }
    m->reached[(*n)++] = i;
}

/* (2) Rounding is monotone: of the least leaves in reach, a step makes no more than of any others,
   computed in its own order and type. A sum, product or quotient is least, and greatest, at a corner. */
static void follow(Model *m, Step *s) {
    const Step *one = m->steps + s->a, *two = m->steps + s->b;
    s->low = -INFINITY, s->high = INFINITY;
    if (s->sign == 'c') s->low = s->high = s->x;
    for (int side = 0; s->sign == 't' && side < 2; side++) {
        double total = s->single ? (float)s->x : s->x;
        for (int t = s->a; t < s->b; t++) {
            double best = m->leaf[s->n][m->reached[m->begin[t]]];
            for (int i = m->begin[t]; i < m->begin[t + 1]; i++)
                best = (side ? fmax : fmin)(best, m->leaf[s->n][m->reached[i]]);
            total = s->single ? (float)total + (float)best : total + best;
        }
        *(side ? &s->high : &s->low) = total;
    }
    if (s->sign && strchr("+-*/", s->sign)) {
        double least = INFINITY, most = -INFINITY;
        for (int k = 0; k < 4; k++) {
            double x = k & 1 ? one->high : one->low, y = k & 2 ? two->high : two->low;
            double z = s->sign == '+' ? x + y : s->sign == '-' ? x - y : s->sign == '*' ? x * y : x / y;
            if (isnan(z) || (s->sign == '/' && two->low <= 0.0 && two->high >= 0.0)) return;
            if (s->single) z = (float)z;
            least = fmin(least, z), most = fmax(most, z);
        }
        s->low = least, s->high = most;
    }
    if (s->sign == 'k') {
        int may = s->b >= 0 && s->b < one->n_may && one->may[s->b], must = may;
        for (int k = 0; k < one->n_may; k++) must = must && (k == s->b || !one->may[k]);
        s->low = must ? s->x : may ? fmin(s->x, s->y) : s->y;
        s->high = must ? s->x : may ? fmax(s->x, s->y) : s->y;
    }
    if (s->sign == 'a') { /* so many ends are below the least number, and below the greatest */
        int few = 0, many = 0;
        for (int k = 0; k < s->n; k++) {
            few += s->single ? s->ends[k] <= one->low : s->ends[k] < one->low;
            many += s->single ? s->ends[k] <= one->high : s->ends[k] < one->high;
        }
        for (int k = 0; k < 2; k++) s->may[k] = few != many || (s->b + few) % 2 == k;
    }
    /* (3) What is below another number for certain is not the largest. Of two that can only be equal,
       the first one is said, or the last one. */
    for (int k = 0; s->sign == 'l' && k < s->n; k++) {
        s->may[k] = 1;
        for (int j = 0; j < s->n; j++) {
            double bottom = m->steps[s->from[j]].low, top = m->steps[s->from[k]].high;
            int goes_first = s->b ? j > k : j < k;
            int is_ahead = s->x > 0.0 ? bottom - top > s->x : bottom > top || (goes_first && bottom >= top);
            if (j != k && is_ahead) s->may[k] = 0;
        }
    }
}

/* Add a step times a factor to what leaves say, as real numbers; 0 where it is no sum of leaves. `size`
   adds up absolute values, of the leaves and of constants. */
static int add_step(const Model *m, int i, double by, Lead *sum, Lead *size) {
    const Step *s = m->steps + i;
    if (s->sign == 'c' || s->sign == 't') {
        sum->constant += by * s->x, size->constant += fabs(by * s->x);
        for (int l = 0; s->sign == 't' && l < m->trees.n; l++)
            if (m->tree[l] >= s->a && m->tree[l] < s->b && m->trees.left[l] < 0) {
                sum->leaf[l] += by * m->leaf[s->n][l];
                size->leaf[l] += fabs(by * m->leaf[s->n][l]);
            }
        return 1;
    }
    if (s->sign == '+' || s->sign == '-')
        return add_step(m, s->a, by, sum, size) && add_step(m, s->b, s->sign == '+' ? by : -by, sum, size);
    int swap = s->sign == '*' && m->steps[s->a].sign == 'c';
    const Step *other = m->steps + (swap ? s->a : s->b);
    if ((s->sign != '*' && s->sign != '/') || other->sign != 'c') return 0;
    double factor = s->sign == '*' ? other->x : 1.0 / other->x; /* others could lose small numbers */
    if (!(fabs(factor) >= 1e-8 && fabs(factor) <= 1e8)) return 0;
    return add_step(m, swap ? s->b : s->a, by * factor, sum, size);
}

/* By how much class a leads class b in what a model compares; NULL where it is no sum. Each number goes
   through at most as many roundings as there are trees and steps, of half an eps each, relative to what
   absolute values add up to: eight times as much is to spare. Multiples of 2^-20 that add up to less
   than 2^20 do not round. */
static const Lead *lead(Model *m, int a, int b) {
    Lead *own = m->leads + a * m->n_classes + b, size = {0};
    const Step *s = m->steps + m->result, *one, *two, *by;
    int i = s->a, j = s->a, is_sum;
    if (own->leaf) return isfinite(own->spare) ? own : NULL;
    own->leaf = room(m->trees.n, sizeof(double)), size.leaf = room(m->trees.n, sizeof(double));
    if (s->sign == 'l') {
        i = s->from[a], j = s->from[b], one = m->steps + i, two = m->steps + j, by = m->steps + one->b;
        if (s->x == 0.0 && one->sign == '/' && two->sign == '/' && one->b == two->b && !one->single && !two->single
            && by->sign == 'c' && by->x >= 1e-8 && by->x <= 1e8)
            i = one->a, j = two->a; /* shares of the same are in the order of what was divided */
        is_sum = add_step(m, i, 1.0, own, &size) && add_step(m, j, -1.0, own, &size);
    } else {
        double sign = a == s->b ? -1.0 : 1.0; /* below its one end, it is class s->b */
        is_sum = s->n == 1 && add_step(m, i, sign, own, &size);
        if (is_sum) own->constant -= sign * s->ends[0], size.constant += fabs(s->ends[0]);
    }
    double total = size.constant, most = 0.0;
    for (int l = 0; l < m->trees.n; l++) {
        if (size.leaf[l] > 0.0) most = fmax(most, fmax(size.leaf[l], 1e-20));
        if (l + 1 == m->trees.first[m->tree[l] + 1]) total += most, most = 0.0;
    }
    free(size.leaf), own->size = total;
    one = m->steps + i, two = m->steps + j;
    int exact = s->sign == 'l' && s->x == 0.0 && m->exact && total < 1048576.0 && one->sign == 't'
                && two->sign == 't' && !one->single && !two->single && one->x == 0.0 && two->x == 0.0;
    own->spare = exact ? 0.0 : 4.0 * m->eps * (m->n_trees + m->n_steps + 8) * total + (s->sign == 'l' ? s->x : 0.0);
    if (!is_sum || !(total < 1e37)) own->spare = INFINITY; /* float32 would overflow */
    return isfinite(own->spare) ? own : NULL;
}

/* The least that x times a lead is in the box: each tree adds its least leaf. Where there is a lead of
   the second model, y times that is added in the leaves of twins; trees that are `passed` are not. */
static double least_of(const Model *m, double x, const Lead *own, double y, const Lead *other, const char *passed) {
    double total = x * own->constant - fabs(x) * own->spare;
    for (int t = 0; t < m->n_trees; t++) {
        double best = INFINITY;
        int theirs = other && twin[t] >= 0 ? models[1].begin[twin[t]] - m->begin[t] : -1, joint = other && twin[t] >= 0;
        if (passed && passed[t]) continue;
        for (int i = m->begin[t]; i < m->begin[t + 1]; i++)
            best = fmin(best, x * own->leaf[m->reached[i]]
                              + (joint ? y * other->leaf[models[1].reached[theirs + i]] : 0.0));
        total += best;
    }
    return total;
}

static void look(Model *m) {
    const Step *s = m->steps + m->result;
    int n = 0;
    for (int t = 0; t < m->n_trees; t++) m->begin[t] = n, reach(m, m->trees.first[t], &n);
    m->begin[m->n_trees] = n;
    for (int i = 0; i < m->n_steps; i++) follow(m, m->steps + i);
    for (int j = 0; s->sign == 'l' && j < s->n; j++)
        for (int k = 0; s->may[j] && k < s->n; k++) { /* (3) again, by leads */
            const Lead *own = k == j || !s->may[k] ? NULL : lead(m, j, k);
            double least = own ? least_of(m, 1.0, own, 0.0, NULL, NULL) : 0.0;
            if (least > 0.0 || (own && least == 0.0 && own->spare == 0.0 && (s->b ? j > k : j < k))) s->may[k] = 0;
        }
}

/* ------------------------------------------------------------------------ the two models */

static int same_steps;

/* (5) Where each tree of both models says the same, and the same is made of it, so is the answer. */
static int say_the_same(void) {
    const Model *m = models, *w = models + 1;
    for (int t = 0; t < m->n_trees; t++)
        for (int i = m->begin[t]; i < m->begin[t + 1]; i++)
            for (int c = 0; c < m->n_values; c++)
                if (twin[t] != t || m->leaf[c][m->reached[i]] != w->leaf[c][w->reached[i - m->begin[t] + w->begin[t]]])
                    return 0;
    return 1;
}

/* The number of a label among the classes of a model, or -1. */
static int class_of(const Model *m, const Json *label) {
    int k = m->n_classes - 1;
    while (k >= 0 && !same_text(m->classes->items + k, label)) k--;
    return k;
}

static int is_proven(void) {
    Model *m = models, *w = models + 1;
    split_in = NULL, look(m), look(w);
    if (same_steps && say_the_same()) return 1;
    for (int i = 0; i < m->n_classes; i++)
        for (int j = 0; j < w->n_classes; j++) {
            int holds = same_text(m->classes->items + i, w->classes->items + j);
            if (holds || !m->steps[m->result].may[i] || !w->steps[w->result].may[j]) continue;
            /* (4) If the first model says i, its lead of i over j is not negative; if the second one says
               j, its lead of j over i is not. Where x times the one and the other are less than nothing in
               sum, it is not so. Any positive x will do: those near the ratio of their sizes are tried. */
            int a = class_of(w, m->classes->items + i), b = class_of(m, w->classes->items + j);
            const Lead *ahead = a < 0 || b < 0 ? NULL : lead(m, i, b);
            const Lead *behind = a < 0 || b < 0 ? NULL : lead(w, j, a);
            for (int k = -8; ahead && behind && k <= 8 && !holds; k++) {
                double x = behind->size / ahead->size * pow(2.0, 0.5 * k);
                if (x > 1e-100 && x < 1e100)
                    holds = least_of(m, -x, ahead, -1.0, behind, NULL)
                            + least_of(w, -1.0, behind, 0.0, NULL, w->is_twin) > 0.0;
            }
            if (!holds) return 0;
        }
    return 1;
}

/* ------------------------------------------------------------------- the region, in boxes */

static Trees proof; /* its nodes cut the space */
static int single, *integer; /* the region's type, and which columns hold whole numbers */
static const Json *clauses;
static long n_boxes;

/* The largest number of the region's type, or whole number, that is not above x. */
static double under(double x, int is_whole) {
    double found = single && x > FLT_MAX ? FLT_MAX : x > DBL_MAX ? DBL_MAX : single ? (float)x : x;
    if (single && found > x) found = nextafterf((float)found, -INFINITY);
    return is_whole ? floor(found) : found;
}

static void limit(int j, double least, double most) {
    int some = least <= most;
    low[j] = some ? least : NAN, high[j] = some ? most : NAN;
}

static int is_empty(void) {
    for (int j = 0; j < n_columns; j++)
        if (!gap[j] && !(low[j] <= high[j])) return 1;
    for (int i = 0; i < clauses->n; i++) { /* of the pairs of a clause, one holds: a column and its value */
        int some = 0;
        for (int k = 0; k < clauses->items[i].n; k++) {
            const Json *pair = clauses->items[i].items + k;
            need(pair->n == 2, "a clause is of no pairs");
            int j = whole(pair->items, 0, n_columns - 1);
            some |= low[j] <= number(pair->items + 1, 0.0) && number(pair->items + 1, 0.0) <= high[j];
        }
        if (!some) return 1;
    }
    return 0;
}

/* (1) Each split of the proof's tree cuts a box in two, and loses nothing: numbers up to its end, and
   those above it with the missing values. So the leaves cover the region, and each is proven, or cut
   further where trees are undecided. */
static void walk(int node) {
    const Trees *t = &proof;
    int i = node;
    if (is_empty()) return;
    if (node < 0 || proof.left[node] < 0) {
        n_boxes++;
        if (is_proven()) return;
        need(n_boxes < MOST_BOXES, "this takes too many boxes");
        prove(split_in != NULL, "in a box, the models can answer different classes");
        node = -1, i = split_at, t = split_in;
    }
    int j = t->column[i];
    double least = low[j], most = high[j], cut = under(t->ends[i], integer[j]);
    if (node < 0 && !(least <= cut && cut < most)) cut = under(INFINITY, 0); /* it parts missing values */
    double after = single ? nextafterf((float)cut, INFINITY) : nextafter(cut, INFINITY);
    char may_miss = gap[j];
    limit(j, least, fmin(cut, most)), gap[j] = 0;
    walk(node < 0 ? -1 : proof.left[node]);
    limit(j, fmax(integer[j] ? ceil(after) : after, least), most), gap[j] = may_miss;
    walk(node < 0 ? -1 : proof.right[node]);
    low[j] = least, high[j] = most;
}

/* The region must hold the point that is named: of nothing, everything is true. */
static void read_region(const Json *own) {
    const Json *point = get(own, "point", "[");
    single = is_single(get(own, "type", "\"")), clauses = get(own, "clauses", "[");
    need(!get(own, "order", "[")->n, "the region has an order of columns");
    double *bottom = numbers(get(own, "low", "["), n_columns, -INFINITY);
    double *top = numbers(get(own, "high", "["), n_columns, INFINITY);
    int *gaps = wholes(get(own, "missing", "["), n_columns, 0, 1);
    integer = wholes(get(own, "integer", "["), n_columns, 0, 1);
    low = numbers(point, n_columns, NAN), high = numbers(point, n_columns, NAN), gap = room(n_columns, 1);
    for (int j = 0, good; j < n_columns; j++) {
        gap[j] = isnan(low[j]) != 0;
        good = gap[j] ? gaps[j] : low[j] >= bottom[j] && low[j] <= top[j] && under(low[j], integer[j]) == low[j];
        prove(good, "the region does not hold its point");
    }
    prove(!is_empty(), "the region does not hold its point");
    for (int j = 0; j < n_columns; j++)
        limit(j, -under(-bottom[j], 0), under(top[j], integer[j])), gap[j] = (char)gaps[j];
    for (int j = 0; j < n_columns; j++) limit(j, integer[j] ? ceil(low[j]) : low[j], high[j]);
}

/* ------------------------------------------------------------------------------ the whole */

static void say(const Json *region) {
    const Json *columns = get(models[0].json, "columns", "["), *others = get(models[1].json, "columns", "[");
    need(is_same(columns, others, 1), "the models have different columns");
    printf("Proven, in %ld boxes: for every input of finite %s numbers,", n_boxes, single ? "float32" : "float64");
    for (int i = 0; i < 2; i++) {
        const Json *name = get(models[i].json, "name", "\"");
        printf(" %s (%.*s, %d trees)", i ? "and model B" : "model A", name->length, name->text, models[i].n_trees);
    }
    printf(" answer the same class, where\n  the columns are %.*s,\n  or %.*s,\n  and the region is %.*s.\n",
           columns->length, columns->text, others->length, others->text, region->length, region->text);
}

static Json read(void) {
    int length = 0, space = 1 << 16, got;
    char *text = room(space, 1);
    while ((got = (int)fread(text + length, 1, (size_t)(space - length), stdin)) > 0)
        if ((length += got) == space) {
            need(space < MOST_BYTES, "the file is too large");
            need((text = realloc(text, (size_t)(space *= 2) + 1)) != NULL, "there is not enough memory");
        }
    at = text, stop = text + length, text[length] = 0;
    Json own = value(0);
    need(!next_is(",") && at == stop, "something comes after the document");
    return own;
}

int main(void) {
    Json document = read();
    need(is_text(get(&document, "format", "\""), "ensemble_simplify.evidence"), "the file holds no evidence");
    need(whole(get(&document, "version", "0"), 0, 1000) == 2, "another version of the format: save the evidence again");
    const Json *claim = get(&document, "claim", "{"), *own = get(&document, "proof", "{");
    const Json *uses = get(&document, "uses", "["), *given = get(&document, "models", "[");
    need(is_text(get(claim, "kind", "\""), "same_class") && uses->n == 2 && given->n == 2, "another kind of claim");
    need(is_text(get(own, "kind", "\""), "boxes"), "another kind of proof");
    n_columns = get(given->items, "columns", "[")->n;
    read_region(get(&document, "region", "{"));
    for (int i = 0; i < 2; i++) {
        const Json *use = uses->items + i, *model = given->items + i;
        need(get(model, "columns", "[")->n == n_columns, "the models have different columns");
        int *which = wholes(get(use, "columns", "["), n_columns, 0, n_columns - 1);
        for (int j = 0; j < n_columns; j++) need(which[j] == j, "a model takes other columns than it has");
        int in_turn = wholes(get(claim, "uses", "["), 2, 0, 1)[i] == i && whole(get(use, "model", "0"), 0, 1) == i;
        need(in_turn, "the claim is not of two models, in turn");
        need(single || !is_single(get(model, "type", "\"")), "a model is right for float32 numbers only");
        read_model(models + i, model);
    }
    same_steps = models[0].n_trees == models[1].n_trees && models[0].n_values == models[1].n_values;
    same_steps = same_steps && is_same(models[0].classes, models[1].classes, 0) && models[0].result == models[1].result;
    same_steps = same_steps && is_same(get(given->items, "steps", "["), get(given->items + 1, "steps", "["), 0);
    find_twins();
    int n_proofs;
    proof = read_trees(own, 0, &n_proofs);
    need(n_proofs == 1, "the proof is more than one tree");
    walk(0);
    say(get(&document, "region", "{"));
    return 0;
}
