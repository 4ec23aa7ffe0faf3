import { socketPathOf } from '../options/driver-options.ts';
import { type FlagRules, flagUsage, parseFlags } from '../options/flags.ts';

/** Flags of the liveness probe; names and meanings are those of Kubernetes' livenessprobe for CSI drivers. */
const PROBE_FLAGS = {
  'csi-address': { type: 'text', meaning: 'socket of the driver', default: '/run/csi/socket' },
  'health-port': { type: 'integer', meaning: 'TCP port of /healthz', default: '9808' },
  v: { type: 'integer', meaning: 'accepted without effect' },
  version: { type: 'boolean', meaning: 'print the version and exit' },
  help: { type: 'boolean', meaning: 'print the flags and exit' },
} as const satisfies FlagRules;

/** Command of the program. */
export type ProbeCommand =
  | { readonly do: 'help' | 'version' }
  | { readonly do: 'serve'; readonly csiSocketPath: string; readonly port: number };

/** Parses the arguments of the liveness probe. @throws Error that names the flag */
export function probeCommand(args: readonly string[]): ProbeCommand {
  const flags = parseFlags(PROBE_FLAGS, args);
  if (flags.help) return { do: 'help' };
  if (flags.version) return { do: 'version' };
  const csiSocketPath = socketPathOf('csi-address', flags['csi-address']);
  return { do: 'serve', csiSocketPath, port: flags['health-port'] };
}

/** Returns the text that `--help` prints. */
export function probeUsage(): string {
  return `Usage: csi-liveness-probe --csi-address=SOCKET [flags]
Serves /healthz: 200 if the driver answers Probe, and 500 if it does not.
${flagUsage(PROBE_FLAGS)}`;
}
