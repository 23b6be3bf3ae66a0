import { byId } from '../dom.ts';
import { mountEditors } from './editors/editors.tsx';
import { Page } from './page.ts';

await mountEditors(new Page(), byId('stage'));
performance.mark('editors');
