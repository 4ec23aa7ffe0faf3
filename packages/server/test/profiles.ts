import type { Frame, Profile } from '../src/pprof/profile.ts';

/** Returns a stack frame in a file that is named after its function. */
export const frame = (name: string, line = 1): Frame => ({ name, file: `/src/${name}.js`, line });
/** Returns a heap profile with the given samples. */
export const profile = (samples: Profile['samples'], timeMs = 1000): Profile => ({
  sampleTypes: [{ type: 'inuse_space', unit: 'bytes' }],
  defaultType: 'inuse_space',
  timeMs,
  samples,
});
