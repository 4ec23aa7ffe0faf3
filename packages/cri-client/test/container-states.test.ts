import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { briefLists } from '../src/container-states.ts';
import { type Container, type Init, messages } from '../src/index.ts';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const texts = fc.dictionary(text, text, { maxKeys: 4 });
const container: fc.Arbitrary<Init<Container>> = fc.record(
  {
    id: text,
    podSandboxId: text,
    metadata: fc.record({ name: text, attempt: fc.nat() }),
    image: fc.record({ image: text, annotations: texts }),
    state: fc.integer({ min: -2, max: 2 ** 31 - 1 }),
    createdAt: fc.integer({ min: 0, max: 2 ** 60 }),
    labels: texts,
    annotations: texts,
    imageId: text,
  },
  { requiredKeys: [] },
);

describe('a list of ids and states', () => {
  it.each(['plain', 'stream'] as const)(
    'the %s list of IDs and states has the same IDs and states as the full list',
    (kind) => {
      const whole = kind === 'plain' ? messages.ListContainersResponse : messages.StreamContainersResponse;
      fc.assert(
        fc.property(fc.array(container, { maxLength: 5 }), (containers) => {
          const bytes = whole.encode({ containers });
          const expected = whole.decode(bytes).containers.map(({ id, state }) => ({ id, state }));
          expect(briefLists[kind].response.decode(bytes)).toEqual({ containers: expected });
        }),
      );
    },
  );

  it('finds IDs and states among fields that only a newer runtime sends', () => {
    const list = messages.ListContainersResponse.encode({ containers: [{ id: 'c', state: 1 }] });
    const unknown = [0x78, 0x05, 0x82, 0x01, 0x02, 0x0a, 0x00];
    const bytes = Uint8Array.from([...unknown, ...list, ...unknown]);
    expect(briefLists.plain.response.decode(bytes)).toEqual({ containers: [{ id: 'c', state: 1 }] });
  });

  it('W3: refuses bytes that are no container list, and never reads past their end', () => {
    const bytes = messages.ListContainersResponse.encode({ containers: [{ id: 'c'.repeat(40), labels: { a: 'b' } }] });
    for (let length = 1; length < bytes.length; length++) {
      expect(() => briefLists.plain.response.decode(bytes.subarray(0, length))).toThrow(RangeError);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (any) => {
        try {
          briefLists.plain.response.decode(any);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
