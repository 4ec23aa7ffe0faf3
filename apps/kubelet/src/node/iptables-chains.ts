import { type Clock, every } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { RunCommand } from '../process/run-command.ts';

/** Programs of iptables, one per IP family. */
const PROGRAMS = ['iptables', 'ip6tables'] as const;
type Program = (typeof PROGRAMS)[number];

const HINT = 'KUBE-IPTABLES-HINT';
const FIREWALL = 'KUBE-FIREWALL';
const CANARY = 'KUBE-KUBELET-CANARY';
const CHECK_MS = 60_000;
/** Seconds to wait for the lock that all iptables commands share. */
const WAIT = ['-w', '5'];

/** Drops packets to loopback addresses from other hosts, which `route_localnet` of kube-proxy would let in. */
const LOCALNET_RULE = [
  ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
  ...['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'],
  ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
];

/** A chain to create, or a rule to add if it is missing. */
export type IptablesStep =
  | { readonly table: string; readonly chain: string }
  | {
      readonly table: string;
      readonly chain: string;
      readonly at: 'start' | 'end';
      readonly rule: readonly string[];
    };

/**
 * Returns the chains and rules of the kubelet, as in upstream
 * (`pkg/kubelet/kubelet_network_linux.go: syncIPTablesRules`), and the canary chains. A missing canary chain shows that
 * the rules were flushed.
 */
function iptablesSteps(program: Program): readonly IptablesStep[] {
  const firewall: readonly IptablesStep[] = [
    { table: 'filter', chain: FIREWALL },
    { table: 'filter', chain: 'OUTPUT', at: 'start', rule: ['-j', FIREWALL] },
    { table: 'filter', chain: 'INPUT', at: 'start', rule: ['-j', FIREWALL] },
    { table: 'filter', chain: FIREWALL, at: 'end', rule: LOCALNET_RULE },
  ];
  return [
    { table: 'mangle', chain: HINT },
    // The firewall rule is for IPv4 only, because IPv6 has only one loopback address.
    ...(program === 'iptables' ? firewall : []),
    ...['mangle', 'nat', 'filter'].map((table) => ({ table, chain: CANARY })),
  ];
}

/** Keeps the iptables chains of the kubelet (`makeIPTablesUtilChains`) for the programs that the host has. */
export class IptablesChains {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #run: RunCommand;

  constructor({ clock, logger, run }: { readonly clock: Clock; readonly logger: Logger; readonly run: RunCommand }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#run = run;
  }

  /** Creates the chains now, and again within a minute after they were flushed, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const usable: Program[] = [];
    for (const program of PROGRAMS) {
      const { code } = await this.#run(program, ['--version'], signal);
      if (code !== 0) continue;
      if (await this.#sync(program, signal)) usable.push(program);
    }
    if (signal.aborted) return;
    if (usable.length === 0) {
      this.#logger.info({}, 'No usable iptables on this system; the chain KUBE-IPTABLES-HINT does not exist');
      return;
    }
    const check = async (): Promise<void> => {
      for (const program of usable) {
        const canary = await this.#iptables(program, ['-t', 'mangle', '-S', CANARY], signal);
        if (canary.code !== 0 && !signal.aborted) await this.#sync(program, signal);
      }
    };
    await every(this.#clock, CHECK_MS, check, signal);
  }

  async #sync(program: Program, signal: AbortSignal): Promise<boolean> {
    for (const step of iptablesSteps(program)) {
      const problem = await this.#ensure(program, step, signal);
      if (problem === undefined) continue;
      if (signal.aborted) return false;
      this.#logger.warn(
        { program, chain: step.chain, table: step.table, because: problem },
        'Could not set up iptables',
      );
      return false;
    }
    this.#logger.info({ program }, 'Set up iptables chains');
    return true;
  }

  /** Creates a chain or rule if it is missing. Returns the error output of iptables, or `undefined` on success. */
  async #ensure(program: Program, step: IptablesStep, signal: AbortSignal): Promise<string | undefined> {
    const { table, chain } = step;
    const iptables = (...args: readonly string[]) => this.#iptables(program, ['-t', table, ...args], signal);
    if (!('rule' in step)) {
      const created = await iptables('-N', chain);
      if (created.code === 0) return undefined;
      // Creating a chain that exists fails, with the same exit code as every other fault.
      return (await iptables('-S', chain)).code === 0 ? undefined : created.stderr;
    }
    const checked = await iptables('-C', chain, ...step.rule);
    if (checked.code === 0) return undefined;
    // Exit code 1 means that the rule is missing. After any other exit code (4: another process holds the lock), the
    // rule may exist.
    if (checked.code !== 1) return checked.stderr;
    const added = await iptables(step.at === 'start' ? '-I' : '-A', chain, ...step.rule);
    return added.code === 0 ? undefined : added.stderr;
  }

  #iptables(program: Program, args: readonly string[], signal: AbortSignal): ReturnType<RunCommand> {
    return this.#run(program, [...WAIT, ...args], signal);
  }
}
