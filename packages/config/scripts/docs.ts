import { writeFileSync } from 'node:fs';
import { configurationPage } from './page-text.ts';
import { generatedTypes } from './type-text.ts';

const here = import.meta.dirname;
writeFileSync(`${here}/../src/generated/kubelet-configuration.ts`, generatedTypes());
writeFileSync(`${here}/../../../docs/reference/configuration.md`, configurationPage());
