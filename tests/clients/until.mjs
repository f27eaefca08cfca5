/**
 * Polls `check` until it returns a truthy value, and returns that value. Throws after `patience` milliseconds.
 * `condition` completes the sentence "timed out waiting until …".
 */
export async function until(condition, check, patience = 10_000) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out waiting until ${condition}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}
