// Builds the pages for browsers in `dist/pages`, if their sources have changed, and writes the notices of `dist`.
import { isBuilt, pages } from './bundle/products.js';
import { writeNotices } from './notices/write.js';

if (!isBuilt(pages)) await import('./bundle/pages.js');
writeNotices();
