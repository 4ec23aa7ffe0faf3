export { type Answer, FakePeer } from './fake-peer.ts';
