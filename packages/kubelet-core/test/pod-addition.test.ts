import { expect, test } from 'vitest';
import { type AdditionFacts, planAddition } from '../src/sync/pod-addition.ts';

const fresh: AdditionFacts = { isTerminal: false, isDeleted: false, runsAlready: false, isTerminating: false };

test.each<[string, Partial<AdditionFacts>, ReturnType<typeof planAddition>]>([
  ['admits a new pod', {}, 'admit'],
  ['terminates a new pod that is marked for deletion', { isDeleted: true }, 'terminate'],
  ['terminates a new pod whose phase is terminal', { isTerminal: true }, 'terminate'],
  ['resumes a pod that already runs', { runsAlready: true }, 'resume'],
  ['resumes a pod that already runs and is marked for deletion', { runsAlready: true, isDeleted: true }, 'resume'],
  [
    'terminates a pod that already runs and whose phase is terminal',
    { runsAlready: true, isTerminal: true },
    'terminate',
  ],
  ['resumes a pod that its worker terminates', { isTerminating: true }, 'resume'],
  [
    'resumes a pod that its worker terminates because of its deletion',
    { isTerminating: true, isDeleted: true },
    'resume',
  ],
  [
    'terminates a pod that its worker terminates and whose phase is terminal',
    { isTerminating: true, isTerminal: true },
    'terminate',
  ],
])('N1: planAddition %s', (_name, facts, expected) => {
  expect(planAddition({ ...fresh, ...facts })).toBe(expected);
});
