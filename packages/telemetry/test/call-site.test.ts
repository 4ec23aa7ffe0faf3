import { describe, expect, test } from 'vitest';
import { callSiteIn } from '../src/call-site.ts';
import { createLogger } from '../src/create-logger.ts';
import { LogLevelSwitch } from '../src/log-level.ts';
import type { Logger } from '../src/logger.ts';

const stack = (...frames: string[]): string =>
  ['Error: a place', ...frames.map((frame) => `    at ${frame}`)].join('\n');
const OWN = 'callSite (file:///x/node_modules/@node-agent/telemetry/dist/index.js:10:5)';

describe('the call site in log lines', () => {
  test.each([
    [
      [OWN, 'EventStream.run (file:///x/packages/pleg/src/event-stream.ts:71:9)'],
      { file: 'event-stream.ts', line: 71 },
    ],
    [[OWN, 'file:///x/packages/pleg/src/pleg.ts:5:1'], { file: 'pleg.ts', line: 5 }],
    [[OWN, 'async Pleg.run (file:///x/@node-agent/pleg/dist/index.js:812:7)'], { file: 'pleg/index.js', line: 812 }],
    // A logger in another package that forwards its lines.
    [
      [
        OWN,
        'Object.warn (file:///x/apps/kubelet/dist/command.js:3:1)',
        'Object.<anonymous> [as warn] (file:///x/apps/kubelet/dist/command.js:4:1)',
        'runNode (file:///x/apps/kubelet/dist/command.js:99:1)',
      ],
      { file: 'kubelet/command.js', line: 99 },
    ],
    [[OWN, 'process.emit (node:events:508:28)'], undefined],
    [[OWN], undefined],
  ])('the call site in the stack %j is %j', (frames, expected) => {
    expect(callSiteIn(stack(...frames))).toEqual(expected);
  });

  test.each(['text', 'json'] as const)(
    'every log line of the format %s has its call site, even through children and wrappers of a logger',
    async (format) => {
      const lines: string[] = [];
      const write = (line: string): void => void lines.push(line);
      const inner = await createLogger({ format, level: new LogLevelSwitch('info'), now: () => 0, write });
      const logger: Logger = { ...inner, info: (fields, message) => inner.child({}).info(fields, message) };
      logger.info({}, 'x');
      expect(lines[0]).toMatch(/call-site\.test\.ts:\d+/);
    },
  );
});
