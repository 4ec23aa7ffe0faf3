import type { Case } from './case.ts';
import { changes } from './changes.ts';
import { csi } from './csi.ts';
import { devices } from './devices.ts';
import { environment } from './environment.ts';
import { hooks } from './hooks.ts';
import { images } from './images.ts';
import { lifecycle } from './lifecycle.ts';
import { manifests } from './manifests.ts';
import { messages } from './messages.ts';
import { placement } from './placement.ts';
import { probes } from './probes.ts';
import { resizes } from './resizes.ts';
import { security } from './security.ts';
import { sidecars } from './sidecars.ts';
import { volumes } from './volumes.ts';

export { type Case, EXTENDED, SIDE } from './case.ts';
export { csi } from './csi.ts';

/** All cases by topic. Features that this kubelet rejects explicitly are not included. */
export const topics: readonly (readonly Case[])[] = [
  lifecycle,
  messages,
  sidecars,
  images,
  environment,
  volumes,
  security,
  placement,
  manifests,
  changes,
  probes,
  hooks,
  resizes,
  devices,
  csi,
];
