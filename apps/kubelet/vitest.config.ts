import { mergeConfig } from 'vitest/config';
import shared from '../../vitest.shared.ts';

// The end-to-end suites mostly wait, each for a runtime of its own. Many tests start several kubelets, and `npm test` runs
// them beside the checks that need the processors.
export default mergeConfig(shared, { test: { maxWorkers: 2, testTimeout: 60_000 } });
