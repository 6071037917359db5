// The core of bentpipe in workers: one that reads scenarios, and a new one for each run, because memory never shrinks.
"use strict";
(() => {
  const studio = globalThis.studio;
  let module = null;
  let open = null;
  let reader = null;
  let watched = null; // The run whose packets were asked for last, with its worker.
  const files = {}; // Contents by name, for scenarios that name them.

  class Instance {
    constructor() {
      this.worker = open();
      this.waiting = new Map();
      this.last = 0;
      this.worker.onmessage = ({ data }) => this.#hear(data);
      this.worker.onerror = (event) => this.#fail(event.message || "the worker did not start");
      this.send({ module }).catch(() => {});
    }

    send(message, tell) {
      const id = (this.last += 1);
      return new Promise((keep, fail) => {
        this.waiting.set(id, { keep, fail, tell });
        this.worker.postMessage({ id, ...message });
      });
    }

    stop() {
      this.worker.postMessage({ stop: true });
    }

    // An answer that is due does not come.
    end() {
      this.worker.terminate();
      for (const { fail } of this.waiting.values()) fail(new Error("ended"));
      this.waiting.clear();
    }

    #hear({ id, answer, progress, failed }) {
      const waits = this.waiting.get(id);
      if (progress) return waits?.tell?.(progress);
      if (failed !== undefined) return this.#fail(failed);
      this.waiting.delete(id);
      waits?.keep(answer);
    }

    // A module that panicked is never used again.
    #fail(text) {
      this.isBroken = true;
      for (const { fail } of this.waiting.values()) fail(new Error(explain(text)));
      this.waiting.clear();
      this.end();
    }
  }

  function explain(text) {
    if (/unreachable|memory|out of bounds/i.test(text) && !text.includes("panicked")) {
      return "The simulator ended without a message: most likely the run needs more than 1 GB of memory. Record fewer series, simulate less time, or install bentpipe.";
    }
    return `The simulator ended: this is a bug in bentpipe, please report it. ${text}`;
  }

  // `bytes` are those of the module; `make` makes a worker.
  async function begin(bytes, make) {
    module = await WebAssembly.compile(bytes);
    open = make;
    return ask({ know: {} });
  }

  // A question about a text. After a panic, the next one has a new worker.
  function ask(request) {
    if (!reader || reader.isBroken) reader = new Instance();
    return reader.send({ request: Object.fromEntries(Object.entries(request).map(([name, asked]) => [name, "text" in asked ? { ...asked, files } : asked])) });
  }

  // A whole run, with its progress. Returns a promise with `stop`.
  function run(whole, tell) {
    const instance = new Instance();
    /** @type {any} */
    const done = instance.send({ whole: { ...whole, files } }, tell).finally(() => instance.end());
    done.stop = () => instance.stop();
    return done;
  }

  // The packets of a span. The worker does the run again with its events, up to the end of the span, and keeps it for the
  // next one.
  function packets(run, begin, span) {
    if (watched?.run !== run || watched.instance.isBroken) {
      watched?.instance.end();
      watched = { run, instance: new Instance(), last: Promise.resolve() };
    }
    const { instance, last } = watched;
    const answer = last.then(() => instance.send({ packets: { begin: { ...begin, files }, span } }));
    watched.last = answer.catch(() => {});
    return answer;
  }

  // Many runs, as many at a time as there are cores. `tell(index, answer)` has each as it ends.
  function runAll(jobs, tell, cores = Math.max(1, navigator.hardwareConcurrency || 2)) {
    const running = new Set();
    let next = 0;
    let isStopped = false;
    async function take() {
      while (next < jobs.length && !isStopped) {
        const index = next;
        next += 1;
        const job = run(jobs[index]);
        running.add(job);
        try {
          tell(index, await job);
        } finally {
          running.delete(job);
        }
      }
    }
    /** @type {any} */
    const done = Promise.all(Array.from({ length: Math.min(cores, jobs.length) }, take));
    done.stop = () => {
      isStopped = true;
      running.forEach((job) => job.stop());
    };
    return done;
  }

  studio.core = { begin, ask, run, packets, runAll, files };
})();
