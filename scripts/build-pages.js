// Builds the pages for browsers and the package for frontends, if their sources have changed, and writes the notices of
// `dist`.
import { client, isBuilt, pages } from './bundle/products.js';
import { writeNotices } from './notices/write.js';

if (!isBuilt(pages)) await import('./bundle/pages.js');
writeNotices();
if (!isBuilt(client)) await import('./build-client.js');
