import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { formatIssue } from '../src/index.ts';
import { load } from './memory-files.ts';

/**
 * Expected warnings by configuration file, without the path of the file. The files have the fields that distributions
 * of Kubernetes ship; layout, addresses and names were changed.
 */
const WARNINGS: Readonly<Record<string, readonly string[]>> = {
  'aks.json': [],
  'bottlerocket.yaml': ['17:1: idsPerPod: unknown field (ignored)'],
  'deckhouse.yaml': ['15:1: configTrialDuration: unknown field (ignored)'],
  'eks-al2023.json': [],
  'gke-cos.yaml': [],
  'k3s.yaml': [],
  'kind.yaml': ['3:1: metadata: unknown field (ignored)'],
  'kubeadm.yaml': [],
  'kubespray.yaml': [],
  'openshift.json': [],
  'rke2.yaml': [],
  'salt.yaml': [
    '6:1: ["nodefs.available"]: unknown field (ignored)',
    '7:1: ["nodefs.inodesFree"]: unknown field (ignored)',
    '8:1: ["imagefs.available"]: unknown field (ignored)',
  ],
  'talos.yaml': [],
};

const directory = `${import.meta.dirname}/distributions`;

it.each(readdirSync(directory))(
  'loads the configuration file of %s, and warns about its unknown fields',
  async (name) => {
    const config = readFileSync(`${directory}/${name}`, 'utf8');
    const { warnings } = await load({ config, cgroupVersion: 2 });
    const texts = warnings.map((warning) => formatIssue(warning).replace('/etc/kubelet/config.yaml:', ''));
    expect(texts).toEqual(WARNINGS[name]);
  },
);
