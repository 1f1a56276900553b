// Package model: $about
package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var end = []float64{$end}
var column = []int{$column}
var left = []int{$left}
var right = []int{$right}
var roots = []int{$roots}
var values = []float64{$values}
var firstCode = []int{$first_code}
var codes = []int{$codes}
var Classes = []$answer{$classes}
$levels
func levels(known ...any) map[any]float64 {
	codes := map[any]float64{}
	for code, level := range known {
		codes[level] = float64(code)
	}
	return codes
}

func entry(row map[string]any, name string) any {
	value, found := row[name]
	if !found {
		panic("The row has no column " + name)
	}
	return value
}

// Nil, NaN and the empty text are missing values.
func number(value any) (float64, error) {
	switch own := value.(type) {
	case nil:
		return math.NaN(), nil
	case float64:
		return own, nil
	case float32:
		return float64(own), nil
	}
	word := strings.ToLower(strings.TrimSpace(fmt.Sprint(value)))
	switch word {
	case "", "nan":
		return math.NaN(), nil
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	return strconv.ParseFloat(word, 64)
}

func read(value any) float64 {
	found, err := number(value)
	if err != nil {
		panic(fmt.Sprint(value, " is not a number"))
	}
	return found
}

func text(value any) string {
	if own, is := value.(bool); is {
		if own {
			return "$true"
		}
		return "$false"
	}
	return fmt.Sprint(value)
}

func code(value any, known map[any]float64, isText bool, other float64) float64 {
	if own, is := value.(float64); value == nil || is && math.IsNaN(own) {
		return math.NaN()
	}
	var key any
	if isText {
		key = text(value)
	} else if own, err := number(value); err == nil {
		if math.IsNaN(own) {
			return own
		}
		key = own
	}
	if found, is := known[key]; is {
		return found
	}
	if other == -1 {
		panic(fmt.Sprint("Unknown level: ", value))
	}
	return other
}

// A number goes left if it is at most the end of a node, a code if its set has a 1 for it. NaN goes
// right, or left where the right child is negative. Of a leaf, the column is -1.
func leavesOf(x []float64) []int {
	leaf := make([]int, len(roots))
	for t, i := range roots {
		for column[i] >= 0 {
			own, toLeft := x[column[i]%$n_features], false
			if math.IsNaN(own) {
				toLeft = right[i] < 0
			} else if column[i] < $n_features {
				toLeft = own <= end[i]
			} else {
				first, last := firstCode[int(end[i])], firstCode[int(end[i])+1]-1
				toLeft = codes[int(math.Min(float64(last), float64(first)+own))] == 1
			}
			if toLeft {
				i = left[i]
			} else if right[i] < 0 {
				i = -right[i]
			} else {
				i = right[i]
			}
		}
		leaf[t] = left[i]
	}
	return leaf
}

// Conversions round, and keep a processor from joining two operations.
func single(x float64) float64 {
	return float64(float32(x))
}

func power(x float64) float64 {
	return math.Exp(x)
}

func sum(leaf []int, start, stop, column int, total float64) float64 {
	for _, own := range leaf[start:stop] {
		total += values[own*$n_scores+column]
	}
	return total
}

func sumSingle(leaf []int, start, stop, column int, total float64) float64 {
	for _, own := range leaf[start:stop] {
		total = single(total + single(values[own*$n_scores+column]))
	}
	return total
}

func choose(label, one int, yes, no float64) float64 {
	if label == one {
		return yes
	}
	return no
}

func beyond(x float64, first int, inclusive bool, at ...float64) int {
	for _, end := range at {
		if x > end || inclusive && x == end {
			first++
		}
	}
	return first % 2
}

func largest(last bool, x ...float64) int {
	best := 0
	for i, own := range x {
		if own > x[best] || last && own == x[best] {
			best = i
		}
	}
	return best
}

func round(isSingle bool, x float64) float64 {
	if isSingle {
		return single(x)
	}
	return x
}

func softmax(isSingle bool, x ...float64) []float64 {
	most, total, powers := x[largest(false, x...)], 0.0, make([]float64, len(x))
	for i, own := range x {
		powers[i] = round(isSingle, power(round(isSingle, own-most)))
		total += powers[i]
	}
	total = round(isSingle, total)
	for i := range powers {
		powers[i] = round(isSingle, powers[i]/total)
	}
	return powers
}

func sigmoid(x float64) []float64 {
	upper := 0.0
	if x > -700 {
		upper = 1 / (1 + power(-x))
	}
	return []float64{1 - upper, upper}
}

// $name answers a row, whose columns are found by their names.
func $name(row map[string]any) (answered $returned, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%v", why)
		}
	}()
	x := make([]float64, $n_features)
$entries
	leaf := leavesOf(x)
	_ = leaf
$steps
}
