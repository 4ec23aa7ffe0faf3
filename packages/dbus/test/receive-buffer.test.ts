import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReceiveBuffer } from '../src/receive-buffer.ts';

test('the receive buffer returns added bytes in order until they are dropped', () => {
  const step = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.nat(400));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const received = new ReceiveBuffer();
      let model = Buffer.alloc(0);
      for (const each of steps) {
        if (typeof each === 'number') {
          received.drop(each);
          model = model.subarray(each);
        } else {
          received.add(each);
          model = Buffer.concat([model, each]);
        }
        expect(received.length).toBe(model.length);
        expect(received.peek().equals(model)).toBe(true);
        expect(received.peek(7).equals(model.subarray(0, 7))).toBe(true);
      }
    }),
  );
});
