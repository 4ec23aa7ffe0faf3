import fs from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { readConstructors } from '../../src/readme/constructors.ts';
import { sampleCheckout } from '../checkout.ts';

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true });
});

describe('readConstructors', () => {
  it('readConstructors finds the parameter objects of classes with inherited properties, and the ports among them', {
    timeout: 60_000,
  }, () => {
    const { root, packages } = sampleCheckout({
      'packages/sample/dist/index.d.ts':
        "export { Sample, SampleError, type Components, type Part, type Port, type Whole } from './sample.js';\n",
      'packages/sample/dist/sample.d.ts': `
        interface Base {
            /** The name,
             * on two lines. */
            readonly name: string;
        }
        interface Usual {
            readonly clock: object;
            readonly random: object;
        }
        export interface Components extends Base, Partial<Pick<Usual, 'clock'>> {
            readonly port: Port;
            readonly periodMs?: number;
        }
        export interface Port {
            read(): Promise<readonly Part[]>;
        }
        export interface Part { readonly whole: Whole }
        export type Whole = string;
        export declare class Sample {
            constructor(components: Components, plain: string);
        }
        export interface ErrorOptions { readonly code: string }
        export declare class SampleError extends Error {
            constructor(options: ErrorOptions);
        }
      `,
    });
    directories.push(root);
    const found = readConstructors(root, packages).get('packages/sample');
    expect(found?.bags.map(({ name }) => name)).toEqual(['Components']);
    expect(found?.bags[0]?.properties).toEqual(
      expect.arrayContaining([
        { name: 'name', optional: false, type: 'string', doc: 'The name, on two lines.' },
        { name: 'port', optional: false, type: 'Port', doc: '' },
        { name: 'periodMs', optional: true, type: 'number', doc: '' },
        { name: 'clock', optional: true, type: 'object', doc: '' },
      ]),
    );
    expect(found?.bags[0]?.properties.map(({ name }) => name)).not.toContain('random');
    expect(found?.ports).toEqual([
      'interface Part { readonly whole: Whole }',
      expect.stringMatching(/^interface Port \{\s+read\(\): Promise<readonly Part\[\]>;\s+\}$/),
    ]);
  });

  it('readConstructors finds the parameter objects of factory functions with their options, and ignores other functions', {
    timeout: 60_000,
  }, () => {
    const { root, packages } = sampleCheckout({
      'packages/sample/dist/index.d.ts': `
        export interface PodComponents { readonly pods: string }
        export interface PodOptions { readonly limit?: number }
        export interface Pod { readonly name: string }
        export declare function podEndpoints(components: PodComponents, options?: PodOptions): object;
        export declare function rank(pod: Pod, options: PodOptions): number;
      `,
    });
    directories.push(root);
    const { bags = [] } = readConstructors(root, packages).get('packages/sample') ?? {};
    expect(bags.map(({ name, properties }) => [name, ...properties.map((each) => each.name)])).toEqual([
      ['PodComponents', 'pods'],
      ['PodOptions', 'limit'],
    ]);
  });
});
