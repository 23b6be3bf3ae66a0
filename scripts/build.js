// Builds the server in `dist`, if it is not built of the sources as they are.
import { isBuilt, server } from './bundle/products.js';

if (!isBuilt(server)) await import('./bundle/server.js');
