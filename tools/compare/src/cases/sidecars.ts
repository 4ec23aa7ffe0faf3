import { ABSENT_IMAGE, type Case, runs, shell } from './case.ts';

const always = { restartPolicy: 'Always' };
const deleted = { finalizers: ['example.com/compared'], later: ['delete', '--wait=false', 'pod'] };
/** Returns a sidecar that exits with the given code when the kubelet stops it. */
const ends = (code: number, name: string) =>
  shell(`trap "exit ${code}" TERM; sleep infinity & wait`, { name, ...always });

/** Sidecars: their start, their restart, and their stop after all other containers. */
export const sidecars: readonly Case[] = [
  {
    name: 'sidecar',
    spec: { initContainers: [runs({ name: 's1', ...always }), shell('true', { name: 'i2' })], containers: [runs()] },
  },
  {
    name: 'sidecar-of-done',
    spec: {
      restartPolicy: 'Never',
      initContainers: [runs({ name: 's1', ...always })],
      containers: [shell('sleep 1')],
    },
  },
  {
    name: 'sidecar-crash',
    spec: { initContainers: [shell('sleep 1; exit 3', { name: 's1', ...always })], containers: [runs()] },
    loops: ['s1'],
  },
  {
    name: 'sidecar-done',
    spec: {
      restartPolicy: 'Never',
      initContainers: [shell('sleep 1', { name: 's1', ...always })],
      containers: [runs()],
    },
    loops: ['s1'],
  },
  {
    name: 'sidecars-two',
    spec: {
      initContainers: [runs({ name: 's1', ...always }), runs({ name: 's2', ...always })],
      containers: [runs()],
    },
  },
  {
    name: 'sidecar-of-failed',
    spec: {
      restartPolicy: 'Never',
      initContainers: [runs({ name: 's1', ...always })],
      containers: [shell('sleep 1; exit 6')],
    },
  },
  {
    name: 'sidecar-of-failed-init',
    spec: {
      restartPolicy: 'Never',
      initContainers: [runs({ name: 's1', ...always }), shell('sleep 1; exit 5', { name: 'i2' })],
      containers: [runs()],
    },
  },
  {
    name: 'sidecar-after-init',
    spec: { initContainers: [shell('true', { name: 'i1' }), runs({ name: 's2', ...always })], containers: [runs()] },
  },
  {
    name: 'sidecar-image-absent',
    spec: { initContainers: [runs({ name: 's1', image: ABSENT_IMAGE, ...always })], containers: [runs()] },
  },
  {
    name: 'sidecar-past-deadline',
    spec: { activeDeadlineSeconds: 4, initContainers: [ends(3, 's1')], containers: [runs()] },
  },
  {
    name: 'deleted-sidecars-two',
    spec: {
      terminationGracePeriodSeconds: 5,
      initContainers: [ends(3, 's1'), ends(4, 's2')],
      containers: [shell('trap "sleep 1; exit 0" TERM; sleep infinity & wait')],
    },
    ...deleted,
  },
  {
    name: 'deleted-sidecar-stubborn',
    spec: {
      initContainers: [shell('trap "" TERM; while true; do sleep 1; done', { name: 's1', ...always })],
      containers: [runs()],
    },
    ...deleted,
  },
];
