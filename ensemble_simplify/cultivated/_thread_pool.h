// A few threads that share out numbered tasks, for work too short to be sent through joblib: the
// features of a node take microseconds.

#ifndef ES_THREAD_POOL_H
#define ES_THREAD_POOL_H

#include <Python.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

typedef void (*es_task)(void *context, Py_ssize_t number, int thread);

// run() calls task(context, i, thread) for i = 0, ..., n_tasks - 1 and returns when all are done.
// The caller works along as thread 0. One run at a time.
class EsThreadPool {
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::atomic<Py_ssize_t> next_{0};  // number of the next task
    es_task task_ = nullptr;
    void *context_ = nullptr;
    Py_ssize_t n_tasks_ = 0;
    unsigned long round_ = 0;  // runs so far: a thread that wakes sees whether there is a new one
    int busy_ = 0;             // threads that have not finished this round
    bool quit_ = false;

    void take_tasks(int thread) {
        for (Py_ssize_t i; (i = next_.fetch_add(1)) < n_tasks_;) task_(context_, i, thread);
    }

    void live(int thread) {
        unsigned long seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return quit_ || round_ != seen; });
            if (quit_) return;
            seen = round_;
            lock.unlock();
            take_tasks(thread);
            lock.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    void stop() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            quit_ = true;
        }
        wake_.notify_all();
        for (auto &thread : threads_) thread.join();
    }

  public:
    explicit EsThreadPool(int n_threads) {
        try {
            for (int i = 1; i < n_threads; ++i) threads_.emplace_back([this, i] { live(i); });
        } catch (...) {
            stop();
            throw;
        }
    }

    ~EsThreadPool() { stop(); }

    // Tasks that are not worth waking the threads are done by the caller alone.
    void run(es_task task, void *context, Py_ssize_t n_tasks, bool worthwhile) {
        if (threads_.empty() || n_tasks < 2 || !worthwhile) {
            for (Py_ssize_t i = 0; i < n_tasks; ++i) task(context, i, 0);
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            task_ = task;
            context_ = context;
            n_tasks_ = n_tasks;
            next_ = 0;
            busy_ = static_cast<int>(threads_.size());
            ++round_;
        }
        wake_.notify_all();
        take_tasks(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return busy_ == 0; });
    }
};

// resize() for tasks, which must not throw: false when memory is out.
template <class T> static bool es_try_resize(std::vector<T> &v, size_t n) noexcept {
    try {
        v.resize(n);
    } catch (...) {
        return false;
    }
    return true;
}

#endif
