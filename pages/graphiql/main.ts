import { byId } from './elements.ts';
import { Page } from './page.ts';
import { Shell } from './shell.ts';

const page = new Page();
const shell = new Shell(page);
performance.mark('usable');

// Only once that is painted: the editors are a hundred times its size.
requestAnimationFrame(() => setTimeout(() => void bringEditors()));

async function bringEditors(): Promise<void> {
  try {
    const { mountEditors } = await import('./editors/editors.tsx');
    await mountEditors(page, shell, byId('stage'));
    performance.mark('editors');
  } catch (error) {
    // It works without them, though with less comfort.
    console.error(error);
  }
}
