import { mountEditors } from './editors/editors.tsx';
import { byId } from './elements.ts';
import { Page } from './page.ts';

await mountEditors(new Page(), byId('stage'));
performance.mark('editors');
