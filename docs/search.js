// Words of letters, and of Chinese text each two neighbours: all of them must be on a page.
var splitQuery = (query) =>
  (query.match(/[\u4e00-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) ?? []).flatMap((word) =>
    !/[\u4e00-\u9fff]/.test(word) || word.length < 2 ? [word]
      : [...word].slice(1).map((character, i) => word[i] + character));
const search = Search._performSearch;
Search._performSearch = (...query) => {
  const found = search(...query), chinese = document.documentElement.lang.startsWith("zh");
  const own = found.filter(([page]) => /(^|\/)zh\//.test(page) === chinese);
  return own.length ? own : found;
};
