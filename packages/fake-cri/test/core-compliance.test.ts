import { busyboxImage } from '../src/index.ts';
import { driven, examine } from './compliance.ts';
import { world } from './support.ts';

const { clock, fs, runtime } = await world({ images: [busyboxImage('node-agent.local/other:1')] });
await fs.mkdir('/work');

examine(
  'fake',
  {
    connect: async () => driven(runtime, () => clock.advance(5)),
    image: 'busybox',
    removableImage: 'node-agent.local/other:1',
    workDir: '/work',
    fs,
    wait: (ms) => clock.advance(ms),
    now: () => clock.now(),
    streams: false,
  },
  false,
);
