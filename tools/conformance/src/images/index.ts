// Programs and images of upstream's suites, for other tools that run the suites elsewhere.
export { findPrograms } from '../programs.ts';
export { writeArchive } from './archive.ts';
export { makeImages } from './contents.ts';
