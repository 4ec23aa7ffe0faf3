import { PAUSE_IMAGE } from '@node-agent/tools-containerd';

/** Facts of a cluster for its user. */
export interface ClusterFacts {
  /** Command that the user typed. */
  readonly calledAs: string;
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly directory: string;
  readonly keeps: boolean;
  /** Whether the command returns while the cluster runs. */
  readonly detaches: boolean;
  /** Arguments that select this cluster for `down`, such as `--run-dir DIR`. */
  readonly selection: readonly string[];
}

/** Returns the lines that tell the user how to use a cluster. */
export function summary(facts: ClusterFacts): readonly string[] {
  const { calledAs, kubectl, kubeconfig, directory, keeps, detaches, selection } = facts;
  const down = [calledAs, 'down', ...selection].join(' ');
  const what = keeps ? `stops the cluster; its state stays in ${directory}` : 'removes the cluster and all its data';
  return [
    '',
    `  export KUBECONFIG=${kubeconfig}`,
    `  alias kubectl=${kubectl}`,
    '  kubectl get nodes -o wide',
    `  kubectl create deployment web --image=${PAUSE_IMAGE} --replicas=2 -- httpd -f -p 80 -h /etc`,
    '  kubectl expose deployment web --port=80',
    `  kubectl run try --image=${PAUSE_IMAGE} --rm -it --restart=Never -- wget -qO- http://web/hostname`,
    '',
    `logs: ${directory}/*.log and ${directory}/*/*.log`,
    detaches ? `\`${down}\` ${what}.` : `Ctrl-C ${what}.`,
  ];
}
