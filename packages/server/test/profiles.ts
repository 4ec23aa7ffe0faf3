import type { Frame, Profile } from '../src/pprof/profile.ts';

/** A line of a program, in a file named after its function. */
export const frame = (name: string, line = 1): Frame => ({ name, file: `/src/${name}.js`, line });
/** What was counted of memory. */
export const profile = (samples: Profile['samples'], timeMs = 1000): Profile => ({
  sampleTypes: [{ type: 'inuse_space', unit: 'bytes' }],
  defaultType: 'inuse_space',
  timeMs,
  samples,
});
