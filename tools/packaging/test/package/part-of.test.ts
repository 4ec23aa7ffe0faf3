import { expect, test } from 'vitest';
import { partOf } from '../../src/single-file/part-of.ts';

test.each([
  ['kubelet', [], 'kubelet'],
  ['/usr/bin/kubelet', ['completion', 'bash'], 'kubelet'],
  ['./kubelet-linux-amd64', ['--version'], 'kubelet'],
  ['nodectl', ['pods'], 'nodectl'],
  ['/usr/bin/nodectl', [], 'nodectl'],
  ['/usr/local/bin/kubectl-why', ['web'], 'kubectl-why'],
  ['/nodectl/kubelet', [], 'kubelet'],
  ['/proc/self/exe', ['--node-agent-part=host-helper'], 'host-helper'],
  ['kubelet', ['--node-agent-part=end-pods', '--config', 'f'], 'end-pods'],
  ['nodectl', ['--node-agent-part=end-pods'], 'nodectl'],
  ['/usr/bin/kubectl-why', ['--node-agent-part=end-pods'], 'kubectl-why'],
  ['kubelet', ['--config', '--node-agent-part=host-helper'], 'kubelet'],
  ['kubelet', ['--node-agent-part=other'], 'kubelet'],
  ['kubelet', ['cluster', 'up'], 'kubelet-cluster'],
  ['./kubelet-linux-amd64', ['cluster'], 'kubelet-cluster'],
  ['kubelet', ['--config', 'cluster'], 'kubelet'],
  ['nodectl', ['cluster'], 'nodectl'],
] as const)('the single file, called as %s with the arguments %j, runs %s', (calledAs, args, part) => {
  expect(partOf(calledAs, args)).toBe(part);
});
