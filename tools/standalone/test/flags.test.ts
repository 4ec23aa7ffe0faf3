import { describe, expect, test } from 'vitest';
import { parseFlags, UsageError } from '../src/flags.ts';

describe('the command line', () => {
  test('parseFlags without options chooses a runtime automatically', () => {
    expect(parseFlags([])).toEqual({ runtime: { kind: 'auto' }, dashboard: true, onceReady: false, help: false });
  });

  test('parseFlags accepts every option', () => {
    const args = [
      '--runtime',
      'unix:///run/crio.sock',
      '--manifests=m',
      '--run-dir',
      '/r',
      '--no-dashboard',
      '--once-ready',
    ];
    expect(parseFlags(args)).toEqual({
      runtime: { kind: 'given', endpoint: 'unix:///run/crio.sock' },
      manifests: 'm',
      runDir: '/r',
      dashboard: false,
      onceReady: true,
      help: false,
    });
  });

  test('parseFlags accepts the fake runtime and -h', () => {
    expect(parseFlags(['--runtime=fake', '-h'])).toMatchObject({ runtime: { kind: 'fake' }, help: true });
  });

  test.each([
    [['--manifest', 'm'], /--manifest/],
    [['pods'], /pods/],
    [['--runtime', 'docker'], /--runtime docker: expected unix:/],
    [['--runtime', '/run/c.sock'], /expected unix:\/\/\/run\/c\.sock/],
    [['--runtime', 'unix:///'], /expected/],
    [['--manifests='], /--manifests: expected a directory/],
    [['--run-dir='], /--run-dir: expected a directory/],
    [['--once-ready=yes'], /once-ready/],
  ])('parseFlags rejects %j', (args, message) => {
    expect(() => parseFlags(args)).toThrow(UsageError);
    expect(() => parseFlags(args)).toThrow(message);
  });
});
