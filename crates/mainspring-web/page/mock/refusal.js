// An answer that is a problem, and what makes it one.

/** What is thrown where an answer is not what was asked for. */
export class Refusal extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {object} [more] */
  constructor(status, code, detail, more = {}) {
    super(detail);
    this.status = status;
    this.body = { type: `urn:mainspring:problem:${code}`, title: code, status, detail, ...more };
  }
}
