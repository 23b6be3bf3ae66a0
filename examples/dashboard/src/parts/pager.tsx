import { plural } from './format.ts';

interface PagerProps {
  /** Of which pages, for screen readers. */
  readonly label: string;
  /** From 1 on. */
  readonly page: number;
  /** How many there are. */
  readonly pages: number;
  readonly onPage: (page: number) => void;
}

/** Goes to the previous and the next page of a table, and to any other by its number. */
export function Pager({ label, page, pages, onPage }: PagerProps) {
  const goTo = (wanted: number): void => {
    const next = Math.min(Math.max(Math.trunc(wanted), 1), pages);
    if (next !== page && !Number.isNaN(next)) onPage(next);
  };
  const turn = (words: string, to: number) => (
    // Not `disabled`: the focus would be lost on the last page.
    <button
      type="button"
      className="quiet"
      aria-disabled={to < 1 || to > pages}
      onClick={() => goTo(to)}
    >
      {words}
      <span className="visually-hidden"> page</span>
    </button>
  );
  return (
    <nav className="pager" aria-label={label}>
      {turn('Previous', page - 1)}
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          goTo(Number(new FormData(event.currentTarget).get('page')));
        }}
      >
        <label className="field">
          Page {/* Another page has another field, which shows its number. */}
          <input
            key={page}
            name="page"
            inputMode="numeric"
            autoComplete="off"
            defaultValue={page}
            aria-label={`Page, of ${plural(pages, 'page')}`}
            onBlur={({ currentTarget }) => {
              currentTarget.value = `${page}`;
            }}
          />{' '}
          of {pages}
        </label>
      </form>
      {turn('Next', page + 1)}
    </nav>
  );
}
