// Failure messages of the soak when a page does not do what it should.

import assert from "node:assert/strict";
import { test } from "node:test";

const playwright = await import("playwright-core").catch(() => null);
const skip = playwright === null && "playwright-core is not installed";

test("a wait that ends says what the page showed, without the code in its address", { skip }, async () => {
  const { withPageText } = await import("../soak.js");
  const page = /** @type {import("playwright-core").Page} */ (
    /** @type {unknown} */ ({
      innerText: async () => "Sign in",
      url: () => "http://127.0.0.1:1/?page=now#code=secret"
    })
  );
  const wait = withPageText(page, () => Promise.reject(new Error("Timeout 120000ms exceeded.")));
  await assert.rejects(wait, (/** @type {Error} */ error) => {
    assert.match(error.message, /Timeout 120000ms exceeded\.\nat http:\/\/127\.0\.0\.1:1\/\?page=now, /);
    assert.match(error.message, /which showed:\nSign in$/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});
