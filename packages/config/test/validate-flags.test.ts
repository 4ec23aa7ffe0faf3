import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../src/flags/command-line.ts';
import { validateFlags } from '../src/flags/validate-flags.ts';

describe('validation of flags that mirror no configuration field', () => {
  it.each([
    ['--node-ip=10.0.0.1'],
    ['--node-ip=here'],
    ['--node-ip=10.0.0.1,::1'],
    ['--node-ip=::1,10.0.0.1,here'],
    ['--cloud-provider=external'],
    ['--exit-on-lock-contention', '--lock-file=/run/lock'],
    ['--minimum-container-ttl-duration=0s'],
    ['--image-credential-provider-config=/a', '--image-credential-provider-bin-dir=/b'],
    ['--node-labels=a=b,c/d='],
    ['--bootstrap-kubeconfig=/a', '--kubeconfig=/b'],
    ['--help', '--all'],
    ['--admin-socket=/run/node-agent/admin.sock'],
    ['--dashboard', '--dashboard-port=10247'],
  ])('accepts the flags %s %s', (...argv) => {
    expect(validateFlags(parseCommandLine(argv))).toEqual([]);
  });

  it.each([
    ['root-dir', '', 'must not be empty'],
    ['admin-socket', 'admin.sock', 'must be an absolute path'],
    ['dashboard-port', '65536', 'must be between 0 and 65535'],
    ['dashboard-port', '-1', 'must be between 0 and 65535'],
    ['cloud-provider', 'aws', 'must be empty or external, not "aws"'],
    ['node-ip', '10.0.0.1, 10.0.0.2', 'two IP addresses must be one of each family'],
    ['node-ip', '::1,::2', 'two IP addresses must be one of each family'],
    ['node-ip', '10.0.0.1,here,10.0.0.2,::1', 'must be one IP address, or two'],
    ['bootstrap-kubeconfig', '/a', 'needs --kubeconfig'],
    ['all', 'true', 'needs --help'],
    ['exit-on-lock-contention', 'true', 'needs --lock-file'],
    ['minimum-container-ttl-duration', '-1ns', 'must not be negative'],
    ['image-credential-provider-config', '/a', 'needs --image-credential-provider-bin-dir'],
    ['image-credential-provider-bin-dir', '/a', 'needs --image-credential-provider-config'],
    ['node-labels', 'a=b,c=-', expect.stringContaining('"-" must be empty, or at most 63 letters')],
    ['node-labels', 'a=b,-=c', expect.stringContaining('"-" must be 1 to 63 letters')],
    ['node-labels', 'a=b,k8s.io/c=d', expect.stringContaining("unknown 'kubernetes.io' or 'k8s.io' label k8s.io/c")],
  ])('refuses the flag --%s=%s with the problem: %s', (flag, text, message) => {
    expect(validateFlags(parseCommandLine([`--${flag}=${text}`]))).toEqual([
      { path: `--${flag}`, message, origin: { source: 'flag', flag, text } },
    ]);
  });
});
