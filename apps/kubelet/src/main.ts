#!/usr/bin/env node
import { runKubelet } from './command.ts';

process.exitCode = await runKubelet(process.argv.slice(2));
