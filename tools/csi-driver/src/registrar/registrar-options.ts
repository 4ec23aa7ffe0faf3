import { socketPathOf } from '../options/driver-options.ts';
import { type FlagRules, flagUsage, parseFlags } from '../options/flags.ts';

/** Flags of the registrar; names and meanings are those of the node-driver-registrar. */
const REGISTRAR_FLAGS = {
  'csi-address': { type: 'text', meaning: 'socket of the driver', default: '/run/csi/socket' },
  'kubelet-registration-path': { type: 'text', meaning: "path of the driver's socket as the kubelet sees it" },
  'plugin-registration-path': {
    type: 'text',
    meaning: "the kubelet's directory of registration sockets",
    default: '/registration',
  },
  timeout: { type: 'text', meaning: 'accepted without effect: each request to the driver has a limit of 5 s' },
  v: { type: 'integer', meaning: 'log level; at 2 and above, each registration is logged' },
  version: { type: 'boolean', meaning: 'print the version and exit' },
  help: { type: 'boolean', meaning: 'print the flags and exit' },
} as const satisfies FlagRules;

/** Settings of the registrar. */
export interface RegistrarOptions {
  readonly csiSocketPath: string;
  readonly kubeletSocketPath: string;
  readonly registrationDirectory: string;
  readonly verbosity: number;
}

/** Command of the program. */
export type RegistrarCommand =
  | { readonly do: 'help' | 'version' }
  | { readonly do: 'register'; readonly options: RegistrarOptions };

/** Parses the arguments of the registrar. @throws Error that names the flag */
export function registrarCommand(args: readonly string[]): RegistrarCommand {
  const flags = parseFlags(REGISTRAR_FLAGS, args);
  if (flags.help) return { do: 'help' };
  if (flags.version) return { do: 'version' };
  if (flags['kubelet-registration-path'] === '') throw new Error('flag --kubelet-registration-path is required');
  return {
    do: 'register',
    options: {
      csiSocketPath: socketPathOf('csi-address', flags['csi-address']),
      kubeletSocketPath: socketPathOf('kubelet-registration-path', flags['kubelet-registration-path']),
      registrationDirectory: flags['plugin-registration-path'],
      verbosity: flags.v,
    },
  };
}

/** Returns the text that `--help` prints. */
export function registrarUsage(): string {
  return `Usage: csi-registrar --csi-address=SOCKET --kubelet-registration-path=SOCKET [flags]
Announces a CSI driver to the kubelet.
${flagUsage(REGISTRAR_FLAGS)}`;
}
