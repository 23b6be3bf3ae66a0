// Builds the pages for browsers in `dist/pages`, if they are not built of the sources as they are, and says whose work
// is in `dist`.
import { isBuilt, pages } from './bundle/products.js';
import { writeNotices } from './notices/write.js';

if (!isBuilt(pages)) await import('./bundle/pages.js');
writeNotices();
