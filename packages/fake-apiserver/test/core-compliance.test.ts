import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '../src/index.ts';
import { examine } from './compliance.ts';

const clock = new FakeClock();
const api = new FakeApiServer({ clock, random: seededRandom(1) });

examine('fake', {
  connect: async () => api,
  wait: (ms) => clock.advance(ms),
  compact: async () => api.compact(),
});
