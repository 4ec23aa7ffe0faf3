export { type Answer, type AnsweringPeer, FakePeer } from './fake-peer.ts';
