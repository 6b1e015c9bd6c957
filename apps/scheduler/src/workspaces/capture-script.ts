/**
 * Script run inside the sandbox to see what a folder contains. The files are read by a temporary repository with its own
 * configuration: from the agent's repository it takes only HEAD, the objects and, to skip unchanged files, the index. None
 * of its hooks, filters or other programs is run, not even inside the sandbox: they could forge the report.
 *
 * A `.git` that is gone or broken, or that blocks for too long, is ignored: files are then compared with what is known.
 *
 * Leaves in $OUT: `result`, lines of `name=value`; `pack`, the objects that the service lacks; `large` and `nested`, the
 * paths that were left out, each terminated by NUL.
 */
export const CAPTURE_SCRIPT = `
set -u
cd "$TREE" || exit 3

# Lists new or changed files below the current folder that are too large to keep: single files above a limit, and whatever
# exceeds the limit for all of them, with small ones kept first.
large() {
  git ls-files -z -m -o --exclude-standard 2> /dev/null | xargs -0 -r stat --printf '%s %n\\0' -- 2> /dev/null | sort -zn |
    as_lines | LC_ALL=C awk -v each="$LARGEST" -v most="$MOST_NEW" -v spent="$OUT/spent" '
      BEGIN { getline sum < spent; close(spent) }
      $1 > each || sum + $1 > most { print substr($0, length($1) + 2); next }
      { sum += $1 }
      END { printf "%.0f\\n", sum > spent }' | of_lines
}
# No name has two slashes in a row.
as_lines() { sed -z 's|\\n|//|g' | tr '\\0' '\\n'; }
of_lines() { tr '\\n' '\\0' | sed -z 's|//|\\n|g'; }
excluding() { sed -z 's|^|:(exclude,literal)|'; }
submodules() { git config -f "$TREE/.gitmodules" --get-regexp '^submodule\\..*\\.path$' 2> /dev/null | cut -d ' ' -f 2-; }
add() { git add -A --ignore-errors --pathspec-from-file="$1" --pathspec-file-nul > "$OUT/add" 2>&1; }

# Lists the agent's repositories within its own, except submodules and ignored ones: all of them in \`repositories\`, those whose
# files are added in \`places\`, and the others, which are left out, in \`all-nested\`.
find_nested() {
  find . -path ./.git -prune -o -name .git -prune -print0 2> /dev/null | sed -z 's|^\\./||; s|/\\.git$||' | LC_ALL=C sort -z > "$OUT/found"
  { git check-ignore -z --no-index --stdin < "$OUT/found"; submodules | tr '\\n' '\\0'; } 2> /dev/null | LC_ALL=C sort -z > "$OUT/passed"
  LC_ALL=C comm -z -23 "$OUT/found" "$OUT/passed" > "$OUT/repositories"
  sed -z '/\\n/d' "$OUT/repositories" | head -z -n "$MOST_NESTED" | tr '\\0' '\\n' > "$OUT/places"
  tr '\\n' '\\0' < "$OUT/places" | LC_ALL=C comm -z -13 - "$OUT/repositories" > "$OUT/all-nested"
  [ "$(count_of "$OUT/all-nested")" -le "$MOST_LARGE" ] || { echo "more than $MOST_LARGE repositories are within it"; exit 7; }
}
count_of() { tr -dc '\\0' < "$1" | wc -c; }

# Git would store only the commit of a nested repository, so its files are added to the outer one.
add_nested() {
  git rm -r --cached -q --ignore-unmatch -- ":(literal)$1" || return 1
  # A linked worktree, whose files belong to another branch.
  [ -d "$1/.git" ] && [ ! -L "$1/.git" ] || return 1
  tree=$(
    cd "$1" || exit 1
    export GIT_WORK_TREE="$PWD" GIT_INDEX_FILE="$OUT/nested-index"
    rm -f "$GIT_INDEX_FILE"
    large > "$OUT/nested-large"
    sed -z "s|^|$(printf '%s' "$1/" | sed 's/[\\\\&|]/\\\\&/g')|" "$OUT/nested-large" >> "$OUT/all-large"
    {
      printf '.\\0'
      excluding < "$OUT/nested-large"
      sed -zn "s/^$(printf '%s' "$1/" | sed 's|[][\\\\.*^$/]|\\\\&|g')//p" "$OUT/repositories" | excluding
    } > "$OUT/nested-paths"
    add "$OUT/nested-paths"
    [ $? -lt 128 ] && git write-tree
  ) || return 1
  git read-tree --prefix="$1/" "$tree"
}

# Files that are left out stay as they were; they don't count as deleted.
as_it_was() { [ -z "$head" ] || { git read-tree "$head" || exit 4; git update-index -q --refresh > /dev/null 2>&1; }; }

count_large() {
  count=$(count_of "$OUT/all-large")
  [ "$count" -le "$MOST_LARGE" ] || { echo "more than $MOST_LARGE files are too large to be kept"; exit 7; }
}

add_all() {
  echo 0 > "$OUT/spent"
  large > "$OUT/all-large"
  count_large
  { printf '.\\0'; excluding < "$OUT/all-large"; excluding < "$OUT/repositories"; } > "$OUT/paths"
  add "$OUT/paths"
}

look() {
  # Git would wait forever for what it takes for one of its own files.
  find . -path ./.git -prune -o -type p -name '.git*' -exec rm -f {} + 2> /dev/null
  git init -q --bare --template= "$OUT/own.git" || exit 3
  export GIT_DIR="$OUT/own.git" GIT_WORK_TREE="$TREE" GIT_INDEX_FILE="$OUT/index"
  git config core.bare false
  [ -z "$head" ] || git update-ref --no-deref HEAD "$head" || exit 3
  [ -f "$OUT/index" ] || as_it_was
  find_nested
  add_all
  if [ $? -ge 128 ]; then
    # A broken index, or files that are not in the encoding that their attributes specify.
    rm -f "$OUT/index"
    mkdir -p "$OUT/own.git/info" && echo '* !working-tree-encoding' > "$OUT/own.git/info/attributes"
    as_it_was
    add_all
    # Unreadable files are left out; any other error would store files unchanged or as deleted, so it ends the capture.
    [ $? -lt 128 ] || { tail -c 300 "$OUT/add"; exit 4; }
  fi
  while IFS= read -r place; do
    add_nested "$place" || printf '%s\\0' "$place" >> "$OUT/all-nested"
  done < "$OUT/places"
  head -z -n 20 "$OUT/all-nested" > "$OUT/nested"
  count_large
  head -z -n 20 "$OUT/all-large" > "$OUT/large"
  tree=$(git write-tree) || exit 4
  work=$head
  if [ -z "$head" ]; then
    [ "$tree" = 4b825dc642cb6eb9a060e54bf8d69288fbee4904 ] || work=$(printf '%s' "$MESSAGE" | git commit-tree "$tree") || exit 5
  elif [ "$(git rev-parse "$head^{tree}")" != "$tree" ]; then
    work=$(printf '%s' "$MESSAGE" | git commit-tree "$tree" -p "$head") || exit 5
  fi
}

# Commits of the branch that the service already has are not packed again.
had() {
  for commit in $BASE $KNOWN; do
    GIT_DIR="$OUT/own.git" GIT_OBJECT_DIRECTORY="$OBJECTS" git cat-file -e "$commit^{commit}" 2> /dev/null && echo "^$commit"
  done
}

pack() {
  [ -n "$work" ] && [ "$work" != "$BASE" ] || return 0
  { echo "$work"; had; } | git pack-objects -q --revs --thin --stdout > "$OUT/pack" || exit 6
}

tell() { { echo "head=$head"; echo "work=$work"; echo "size=$size"; echo "own=$own"; echo "large=$count"; echo "nested=$(count_of "$OUT/all-nested")"; } > "$OUT/result"; }

# The agent has its own repository.
look_with() {
  dir="$TREE/.git"
  own=yes
  # A pipe would block git, and a link may lead to one, or to a device.
  [ -z "$(find "$dir" -path "$dir/hooks" -prune -o \\( -type p -o -type l -o -type b -o -type c \\) -print -quit)" ] || exit 8
  # No program is running any more: any lock was left by one that was killed.
  find "$dir" -maxdepth 1 -name '*.lock' -delete
  find "$dir/refs" -maxdepth 8 -name '*.lock' -delete
  head=$(git --git-dir="$dir" rev-parse -q --verify 'HEAD^{commit}') || exit 8
  [ \${#head} = 40 ] || exit 8
  export GIT_OBJECT_DIRECTORY="$dir/objects"
  git init -q --bare --template= "$OUT/own.git" || exit 3
  new=$({ echo "$head"; had; } | GIT_DIR="$OUT/own.git" git rev-list --objects --disk-usage --stdin) || exit 8
  [ "$new" -le "$MOST_NEW" ] || exit 9
  [ -z "$(find "$dir/index" -maxdepth 0 -type f -size -524288k)" ] || cp "$dir/index" "$OUT/index"
  look
  pack
  if [ "$work" != "$head" ] && [ "$COMMIT" = yes ]; then
    git --git-dir="$dir" update-ref -m 'what the run left' HEAD "$work" "$head" &&
      rm -f "$dir/index" && cp "$OUT/index" "$dir/index" && head=$work
  fi
  tell
}

look_without() {
  head=$KNOWN
  look
  pack
  [ "$COMMIT" != yes ] || head=$work
  tell
}

export GIT_ALTERNATE_OBJECT_DIRECTORIES="$OBJECTS"
own=no
# Kilobytes, a file with several names once; with a mark if there was no time for all of them.
size=$(
  { timeout "$SIZE_SEC" find . -printf '%k %n %i\\n' 2> /dev/null; [ $? != 124 ] || echo unfinished; } | awk '
    $1 == "unfinished" { mark = "+"; next }
    $2 == 1 || !($3 in seen) { sum += $1; if ($2 > 1) seen[$3] }
    END { printf "%.0f%s\\n", sum, mark }')
[ "\${PART:-}" != own ] || { look_with; exit 0; }
if [ "$KIND" = repository ] && [ -d .git ] && [ ! -L .git ]; then
  PART=own timeout -k 1 "$OWN_SEC" /bin/sh -c 'eval "$SERVICE_SCRIPT"'
  code=$?
  [ $code != 0 ] && [ $code != 7 ] || exit $code
  [ $code != 9 ] || own=large
  find "$OUT" -mindepth 1 -delete
fi
look_without
`;
