import { ABSENT_IMAGE, type Case, one, runs } from './case.ts';

/** Image pulls, successful and failing. */
export const images: readonly Case[] = [
  one('image-absent', { image: ABSENT_IMAGE }),
  one('image-absent-always', { image: ABSENT_IMAGE, imagePullPolicy: 'Always' }),
  one('image-never', { image: ABSENT_IMAGE, imagePullPolicy: 'Never' }),
  one('image-nonsense', { image: 'UPPER/Case:x' }),
  one('pull-secret-absent', { image: ABSENT_IMAGE }, { imagePullSecrets: [{ name: 'absent' }] }),
  {
    name: 'init-image-absent',
    spec: { initContainers: [runs({ name: 'i1', image: ABSENT_IMAGE })], containers: [runs()] },
  },
  { name: 'one-image-absent', spec: { containers: [runs(), runs({ name: 'b', image: ABSENT_IMAGE })] } },
];
