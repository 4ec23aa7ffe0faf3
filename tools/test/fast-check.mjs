// What tests get for `fast-check`: the library, with the same values in every run, so that what passed here passes there.
// FAST_CHECK_SEED=random (or a number) looks at others; a failure prints its seed.
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const { FAST_CHECK_SEED: seed = '1' } = process.env;
if (seed !== 'random') {
  if (!/^-?\d+$/.test(seed)) throw new Error(`FAST_CHECK_SEED: ${JSON.stringify(seed)} is neither a number nor random`);
  fc.configureGlobal({ seed: Number(seed) });
}

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
