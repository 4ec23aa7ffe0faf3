import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completionScript, completionShells } from '../src/index.ts';

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

describe('completionScript', () => {
  it.each(completionShells)(
    'the completion script for %s has every flag with an effect, and no flag of cAdvisor',
    (shell) => {
      const script = completionScript(shell);
      for (const name of ['config', 'max-pods', 'admin-socket', 'strict-config', 'logging-format'])
        expect(script).toMatch(new RegExp(`(--|-l )${name}\\b`));
      expect(script).not.toContain('storage-driver-password');
    },
  );

  it('the completion scripts for fish and zsh describe each flag, with quotes escaped', () => {
    expect(completionScript('fish')).toContain("-l config -r -F -d 'Configuration file, relative to");
    expect(completionScript('zsh')).toContain("'--config=[Configuration file, relative to");
    expect(completionScript('zsh')).toMatch(/'--tls-min-version=\[[^\n]*\]:value:\(VersionTLS10 /);
    for (const line of completionScript('zsh').split('\n').slice(3, -1)) {
      expect(line.replaceAll("'\\''", '')).toMatch(
        /^ {2}'--[a-z0-9-]+=?\[(?:[^[\]\\]|\\.)*\](?::(?:path:_files|value:(?:\([^)]*\))?))?'(?: \\)?$/,
      );
    }
    for (const line of completionScript('fish').split('\n').slice(2, -1)) {
      expect(line).toMatch(
        /^complete -c kubelet -l [a-z0-9-]+(?: -s .)?(?: -r -F| -x(?: -a '[^']*')?)? -d '(?:[^'\\]|\\.)*'$/,
      );
    }
  });
});

describe.skipIf(!has('bash'))('completion in bash', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'completion-'));
    await writeFile(join(directory, 'kubelet.bash'), completionScript('bash'));
    await writeFile(join(directory, 'kubelet.yaml'), '');
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function complete(...words: readonly string[]): Promise<readonly string[]> {
    const script =
      'source kubelet.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kubelet; printf "%s\\n" "${COMPREPLY[@]}"';
    const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', 'kubelet', ...words], {
      cwd: directory,
    });
    return stdout.split('\n').filter((line) => line !== '');
  }

  it.each([
    [['--conf'], ['--config', '--config-dir']],
    [['--max-p'], ['--max-pods']],
    [['--config', 'kubelet.y'], ['kubelet.yaml']],
    [['--config', '=', 'kubelet.y'], ['kubelet.yaml']],
    [['--tls-min-version', 'VersionTLS13'], ['VersionTLS13']],
    [
      ['--tls-min-version', '='],
      ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'],
    ],
    [['--max-pods', '1'], []],
    [['--strict-config', '--node-i'], ['--node-ip']],
  ])('completion in bash offers for %j: %j', async (words, expected) => {
    expect((await complete(...words)).toSorted()).toEqual(expected);
  });
});

describe.each(['zsh', 'fish'] as const)('completion in %s', (shell) => {
  it.skipIf(!has(shell))('the completion script for zsh or fish passes the syntax check of that shell', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'completion-'));
    const path = join(directory, 'script');
    await writeFile(path, completionScript(shell));
    await promisify(execFile)(shell, ['-n', path]);
    await rm(directory, { recursive: true });
  });
});
