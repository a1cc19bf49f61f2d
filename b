items,count
a,40
b,43
