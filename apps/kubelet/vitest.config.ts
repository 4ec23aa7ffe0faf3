import { mergeConfig } from 'vitest/config';
import shared from '../../vitest.shared.ts';

// The end-to-end suites mostly wait, each for a runtime of its own.
export default mergeConfig(shared, { test: { maxWorkers: 2 } });
