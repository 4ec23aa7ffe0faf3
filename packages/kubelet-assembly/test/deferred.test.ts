import { describe, expect, it } from 'vitest';
import { Deferred } from '../src/deferred.ts';

describe('Deferred', () => {
  it('Deferred returns the value once it was set', () => {
    const workers = new Deferred<number>('the pod workers');
    expect(workers.set(3)).toBe(3);
    expect(workers.value).toBe(3);
  });

  it("Deferred throws an error with the component's name if its value is read before it was set", () => {
    const workers = new Deferred<number>('the pod workers');
    expect(() => workers.value).toThrow('the pod workers: used before assembled');
  });

  it('Deferred accepts undefined as a value', () => {
    const node = new Deferred<number | undefined>('the cluster node');
    node.set(undefined);
    expect(node.value).toBeUndefined();
  });

  it('Deferred throws on a second value', () => {
    const workers = new Deferred<number>('the pod workers');
    workers.set(1);
    expect(() => workers.set(2)).toThrow('the pod workers: assembled twice');
  });
});
