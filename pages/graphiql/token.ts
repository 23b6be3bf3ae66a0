import type { Complaint } from './answer.ts';
import { wantsToken } from './answer.ts';
import { button, make } from './elements.ts';

const KEY = 'gateway:token';

/**
 * The token of the viewer: a field for it, with the reason why one is needed. It is kept as long as the
 * browser's tab is open, and is in no address.
 */
export class Token {
  readonly #form: HTMLFormElement;
  readonly #opener: HTMLElement;
  readonly #onChange: () => void;
  readonly #field = make('input');
  readonly #reason = make('p', 'reason');
  readonly #forget = button('plain', 'Remove token', () => this.#use(''));
  #token = kept();
  /** Whether an answer has come with the token that there is. */
  #accepted = false;

  constructor(form: HTMLFormElement, opener: HTMLElement, onChange: () => void) {
    this.#form = form;
    this.#opener = opener;
    this.#onChange = onChange;
    const label = make('label', '', 'Token');
    label.htmlFor = 'token-field';
    Object.assign(this.#field, {
      id: 'token-field',
      type: 'password',
      autocomplete: 'off',
      spellcheck: false,
    });
    this.#reason.id = 'token-reason';
    this.#reason.setAttribute('role', 'alert');
    this.#field.setAttribute('aria-describedby', 'token-reason');
    const use = make('button', 'plain strong', 'Use token');
    use.type = 'submit';
    form.replaceChildren(this.#reason, make('div', 'row', label, this.#field, use, this.#forget));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#use(this.#field.value.trim());
    });
    form.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape') return;
      this.#hide();
      this.#opener.focus();
    });
    opener.addEventListener('click', () => {
      if (this.#form.hidden)
        this.#show(this.#token ? 'This page sends the token with every request.' : usual);
      else this.#hide();
      if (!this.#form.hidden) this.#field.focus();
    });
    this.#draw();
  }

  /** To be sent with every request. */
  get headers(): Readonly<Record<string, string>> {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  /** Asks for a token, or for another one, where an answer says that it takes one. */
  judge(complaints: readonly Complaint[]): void {
    const refusedKey = complaints.find(
      ({ extensions }) => extensions?.code === 'UPSTREAM_UNAUTHENTICATED',
    );
    if (wantsToken(complaints)) {
      const said = complaints.find((each) => wantsToken([each]))?.message ?? '';
      this.#accepted = false;
      this.#show(
        this.#token
          ? `The gateway rejected this token: ${said}`
          : `This gateway requires a token: ${said}`,
      );
      this.#field.setAttribute('aria-invalid', String(this.#token !== ''));
    } else if (this.#token && refusedKey) {
      // With `AUTH_MODE=passthrough` it is the caller's key that goes to the API.
      this.#show(`The API rejected the key: ${refusedKey.message}`);
      this.#field.setAttribute('aria-invalid', 'true');
    } else if (this.#token && !this.#accepted && !this.#form.hidden) {
      this.#accepted = true;
      this.#hide();
    }
  }

  #use(token: string): void {
    this.#token = token;
    this.#accepted = false;
    try {
      if (token) sessionStorage.setItem(KEY, token);
      else sessionStorage.removeItem(KEY);
    } catch {
      // It is forgotten with the page then.
    }
    this.#field.value = '';
    this.#field.removeAttribute('aria-invalid');
    if (!token) this.#hide();
    this.#draw();
    this.#onChange();
  }

  #show(reason: string): void {
    this.#reason.textContent = reason;
    this.#form.hidden = false;
    this.#draw();
  }

  #hide(): void {
    this.#form.hidden = true;
    this.#draw();
  }

  #draw(): void {
    this.#forget.hidden = this.#token === '';
    this.#opener.setAttribute('aria-expanded', String(!this.#form.hidden));
    this.#opener.textContent = this.#token ? 'Token in use' : 'Token';
  }
}

const usual =
  'If the gateway authenticates callers, enter a token. The page sends it with every request.';

function kept(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
