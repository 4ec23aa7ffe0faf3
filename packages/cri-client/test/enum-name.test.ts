import { expect, test } from 'vitest';
import { ContainerState, enumName, PodSandboxState } from '../src/index.ts';

test.each([
  [ContainerState, 0, 'CONTAINER_CREATED'],
  [ContainerState, 2, 'CONTAINER_EXITED'],
  [PodSandboxState, PodSandboxState.SANDBOX_NOTREADY, 'SANDBOX_NOTREADY'],
  [ContainerState, 7, 'UNRECOGNIZED (7)'],
])('enumName returns the name of the enum value $1: $2', (names, value, name) => {
  expect(enumName(names, value)).toBe(name);
});
