import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

/** The settings of every package's tests: the sources of the packages, not their builds, are what is tested. */
const shared: ViteUserConfig = defineConfig({
  resolve: {
    conditions: ['@node-agent/source'],
    alias: { 'fast-check': fileURLToPath(new URL('./tools/test/fast-check.mjs', import.meta.url)) },
  },
  ssr: {
    resolve: {
      conditions: ['@node-agent/source', 'node', 'import', 'default'],
      externalConditions: ['@node-agent/source', 'node', 'import', 'default'],
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: '.reports/vitest.json' },
    testTimeout: 20_000,
    // The default, one second, is too short on a machine that is busy with other work.
    expect: { poll: { timeout: 10_000 } },
  },
});
export default shared;
