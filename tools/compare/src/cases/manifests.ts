import { type Case, one, runs, shell } from './case.ts';

/** Static pods: they have no service account and only the kubelet's defaults. */
export const manifests: readonly Case[] = [
  { ...one('manifest'), isStatic: true },
  { name: 'manifest-two', spec: { hostNetwork: true, containers: [runs(), runs({ name: 'b' })] }, isStatic: true },
  { name: 'manifest-crash', spec: { containers: [shell('exit 7')] }, loops: ['main'], isStatic: true },
  { name: 'manifest-done', spec: { restartPolicy: 'Never', containers: [shell('exit 0')] }, isStatic: true },
  { ...one('manifest-past-deadline', {}, { activeDeadlineSeconds: 4 }), isStatic: true },
  {
    name: 'manifest-with-sidecar',
    spec: { initContainers: [runs({ name: 's1', restartPolicy: 'Always' })], containers: [runs()] },
    isStatic: true,
  },
  { ...one('manifest-refused', { resources: { requests: { cpu: '1000' } } }), isStatic: true },
];
