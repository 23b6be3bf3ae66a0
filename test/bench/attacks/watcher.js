// A thread of its own, so that whatever the attacker does holds up no measurement. It asks one address after
// the other as soon as each has answered, over one connection, and keeps the longest wait for an answer.
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** @typedef {{ url: string, pauseMs: number, body?: string, headers?: Record<string, string>, expected?: string }} Asking */

class Poll {
  /** @param {Asking} asking */
  constructor(asking) {
    this.asking = asking;
    this.agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.begin();
  }

  begin() {
    this.beganAt = performance.now();
    this.answers = 0;
    this.wrong = 0;
    this.worst = 0;
  }

  async run() {
    for (;;) {
      this.askedAt ??= performance.now();
      try {
        const answer = await this.ask();
        this.worst = Math.max(this.worst, this.waiting());
        this.answers += 1;
        if (!this.isRight(answer)) this.wrong += 1;
        this.askedAt = undefined;
      } catch {
        // A server without an answer has not answered yet: the clock runs on.
      }
      await new Promise((resolve) => {
        setTimeout(resolve, this.asking.pauseMs);
      });
    }
  }

  /** Milliseconds since a question was asked that has no answer yet, as far as they have been watched. */
  waiting() {
    if (this.askedAt === undefined) return 0;
    return performance.now() - Math.max(this.askedAt, this.beganAt);
  }

  /** @returns {{ answers: number, wrong: number, worst: number }} */
  get summary() {
    const { answers, wrong, worst } = this;
    return { answers, wrong, worst: Math.max(worst, this.waiting()) };
  }

  /** @param {string} answer */
  isRight(answer) {
    const { expected } = this.asking;
    if (expected === undefined) return true;
    try {
      return JSON.stringify(JSON.parse(answer).data) === expected;
    } catch {
      return false;
    }
  }

  /** @returns {Promise<string>} */
  ask() {
    const { url, body, headers = {} } = this.asking;
    const method = body === undefined ? 'GET' : 'POST';
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent: this.agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve(text));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

/** @type {Map<string, Poll>} */
const polls = new Map();
for (const [name, asking] of Object.entries(workerData)) {
  const poll = new Poll(asking);
  polls.set(name, poll);
  void poll.run();
}

parentPort?.on('message', (what) => {
  if (what === 'begin') for (const poll of polls.values()) poll.begin();
  else {
    const summaries = [...polls].map(([name, { summary }]) => [name, summary]);
    parentPort?.postMessage(Object.fromEntries(summaries), []);
  }
});
