import { execFileSync } from 'node:child_process';
import { FakeClock } from '@node-agent/async/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { IptablesChains } from '../src/node/iptables-chains.ts';
import { type RunCommand, runCommand } from '../src/process/run-command.ts';

/** iptables as far as the kubelet uses it. */
class FakeIptables {
  readonly chains = new Set(['filter INPUT', 'filter OUTPUT']);
  readonly rules: string[] = [];
  calls = 0;
  programs = ['iptables'];
  isLocked = false;

  readonly run: RunCommand = async (program, args) => {
    this.calls++;
    const failed = (stderr: string) => ({ code: 1, stderr, isMissing: false });
    if (!this.programs.includes(program)) return { code: undefined, stderr: 'ENOENT', isMissing: true };
    const ok = { code: 0, stderr: '', isMissing: false };
    if (args[0] === '--version') return ok;
    const [, , , table, verb, chain = '', ...rule] = args;
    const text = `${table} ${chain} ${rule.join(' ')}`;
    switch (verb) {
      case '-N':
        if (this.chains.has(`${table} ${chain}`)) return failed('Chain already exists.');
        this.chains.add(`${table} ${chain}`);
        return ok;
      case '-S':
        return this.chains.has(`${table} ${chain}`) ? ok : failed('No chain/target/match by that name.');
      case '-C':
        if (this.isLocked) return { code: 4, stderr: 'the xtables lock is held', isMissing: false };
        return this.rules.includes(text) ? ok : failed('Bad rule');
      default:
        this.rules[verb === '-I' ? 'unshift' : 'push'](text);
        return ok;
    }
  };
}

async function running(iptables: FakeIptables) {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const ending = new AbortController();
  const ended = new IptablesChains({ clock, logger, run: iptables.run }).start(ending.signal);
  onTestFinished(async () => {
    ending.abort();
    await ended;
  });
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(0));
  await clock.advance(0);
  return { clock, lines };
}

describe('the iptables chains of the kubelet', () => {
  it('creates the hint chain and the firewall chain with its rules once, not again at the next start', async () => {
    const iptables = new FakeIptables();
    await running(iptables);
    const { chains, rules } = iptables;
    expect(chains).toContain('mangle KUBE-IPTABLES-HINT');
    expect(chains).toContain('filter KUBE-FIREWALL');
    expect([...rules].sort()).toEqual([
      'filter INPUT -j KUBE-FIREWALL',
      expect.stringMatching(/^filter KUBE-FIREWALL .*--dst 127\.0\.0\.0\/8 ! --src 127\.0\.0\.0\/8 .* -j DROP$/),
      'filter OUTPUT -j KUBE-FIREWALL',
    ]);
    await running(iptables);
    expect(rules).toHaveLength(3);
  });

  it('creates the iptables chains again within a minute after a flush', async () => {
    const iptables = new FakeIptables();
    const { clock } = await running(iptables);
    const quiet = iptables.calls;
    await clock.advance(60_000);
    expect(iptables.calls - quiet).toBeLessThanOrEqual(2);
    iptables.chains.clear();
    iptables.rules.splice(0);
    await vi.waitFor(async () => {
      await clock.advance(60_000);
      expect(iptables.chains).toContain('mangle KUBE-IPTABLES-HINT');
      expect(iptables.rules).toHaveLength(3);
    });
  });

  it('adds no rule while another program holds the lock of iptables, because the rule may exist', async () => {
    const iptables = new FakeIptables();
    await running(iptables);
    iptables.isLocked = true;
    const { lines } = await running(iptables);
    expect(iptables.rules).toHaveLength(3);
    expect(lines).toMatchObject([{ level: 'warn', fields: { because: 'the xtables lock is held' } }, {}]);
  });

  it('logs once that the host has no iptables, and runs no further command', async () => {
    const iptables = new FakeIptables();
    iptables.programs = [];
    const { clock, lines } = await running(iptables);
    const quiet = iptables.calls;
    await clock.advance(600_000);
    expect(iptables.calls).toBe(quiet);
    expect(lines).toMatchObject([{ level: 'info', message: expect.stringContaining('No usable iptables') }]);
  });

  it('creates the iptables chains and rules in a real network namespace', async (context) => {
    const name = `na-iptables-${process.pid}`;
    try {
      execFileSync('ip', ['netns', 'add', name], { stdio: 'pipe' });
      onTestFinished(() => void execFileSync('ip', ['netns', 'del', name]));
      execFileSync('ip', ['netns', 'exec', name, 'iptables', '-t', 'mangle', '-S'], { stdio: 'pipe' });
    } catch (error) {
      context.skip(
        `no iptables in a network namespace: ${error instanceof Error ? error.message.split('\n')[0] : error}`,
      );
    }
    const inside: RunCommand = (program, args, signal) =>
      runCommand('ip', ['netns', 'exec', name, program, ...args], signal);
    const { logger, lines } = captureLogger();
    const ending = new AbortController();
    const ended = new IptablesChains({ clock: new FakeClock(), logger, run: inside }).start(ending.signal);
    await vi.waitFor(() => expect(lines.map(({ message }) => message)).toContain('Set up iptables chains'), 15_000);
    ending.abort();
    await ended;
    const rules = execFileSync('ip', ['netns', 'exec', name, 'iptables', '-S'], { encoding: 'utf8' });
    expect(rules).toMatch(/-A KUBE-FIREWALL ! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 .*-j DROP/);
    expect(rules).toContain('-A OUTPUT -j KUBE-FIREWALL');
  });
});
