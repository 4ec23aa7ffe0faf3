// Replaces `fast-check` in tests by the library with a fixed seed, so that every run uses the same values and results
// are reproducible. FAST_CHECK_SEED=random (or a number) selects other values; a failure prints its seed.
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { FAST_CHECK_SEED: seed = '1' } = process.env;
if (seed !== 'random') {
  if (!/^-?\d+$/.test(seed)) throw new Error(`FAST_CHECK_SEED: must be a number or random, is ${JSON.stringify(seed)}`);
  fc.configureGlobal({ seed: Number(seed) });
}

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
